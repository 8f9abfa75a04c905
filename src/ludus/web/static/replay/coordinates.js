// The names of the cells of a board. ludus/games/coordinates.py is the same in Python.

const ALPHABETS = { go: "ABCDEFGHJKLMNOPQRSTUVWXYZ", chess: "ABCDEFGHIJKLMNOPQRSTUVWXYZ" };

// The letters of a column: A..Z, then AA, AB, ... Without an alphabet: 1, 2, ...
export function columnName(column, coordinates) {
  const alphabet = ALPHABETS[coordinates];
  if (!alphabet) return String(column + 1);
  let text = "";
  for (let left = column + 1; left > 0; left = Math.floor((left - 1) / alphabet.length)) {
    text = alphabet[(left - 1) % alphabet.length] + text;
  }
  return text;
}

// board: {columns, rows, coordinates}. The name of a cell (row * columns + column): "D4", the column's number where the
// columns are numbered, "" where cells have no names.
export function cellName({ columns, rows, coordinates }, index) {
  if (!coordinates || !Number.isInteger(index) || index < 0 || index >= columns * rows) return "";
  const name = columnName(index % columns, coordinates);
  return coordinates === "columns" ? name : name + String(rows - Math.floor(index / columns));
}

// The cell that a person means: "d4", " D 4 "; a column's number is the column's top cell, so that it is the column
// as well. -1 for any other text.
export function cellNamed({ columns, rows, coordinates }, text) {
  const typed = String(text).trim().toUpperCase();
  if (coordinates === "columns") return /^\d{1,4}$/.test(typed) && typed >= 1 && typed <= columns ? Number(typed) - 1 : -1;
  const parts = /^([A-Z]{1,3})\s*(\d{1,4})$/.exec(typed);
  const alphabet = ALPHABETS[coordinates];
  if (!parts || !alphabet) return -1;
  let column = 0;
  for (const letter of parts[1]) {
    if (!alphabet.includes(letter)) return -1;
    column = column * alphabet.length + alphabet.indexOf(letter) + 1;
  }
  const row = rows - Number(parts[2]);
  return column <= columns && row >= 0 && row < rows ? row * columns + column - 1 : -1;
}
