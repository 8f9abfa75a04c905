// Keys of keyboards of all countries.
const WRITTEN_KEY = /^[a-z0-9]$/i;
const DIGIT_CODE = /^(?:Digit|Numpad)(\d)$/;
const LETTER_CODE = /^Key([A-Z])$/;

// The digit or Latin letter that a key means: what it writes, and where it writes neither (digits of AZERTY, letters of
// Cyrillic or Greek) what stands at its place on other keyboards. Every other key is its name.
export function characterOf({ key, code = "", shiftKey = false }) {
  if (key.length !== 1 || WRITTEN_KEY.test(key)) return key;
  const digit = DIGIT_CODE.exec(code);
  if (digit && !shiftKey) return digit[1];
  const letter = LETTER_CODE.exec(code);
  return letter && /\p{L}/u.test(key) && key > "\u02ff" ? letter[1].toLowerCase() : key;
}
