// Units as icons: a plate that says whose (colour and shape) and a glyph that says what.

const GLYPHS = {
  base: { fill: "M-.62 .58V-.58H-.34V-.36H-.14V-.58H.14V-.36H.34V-.58H.62V.58H.2V.24A.2.2 0 0 0-.2.24V.58Z" },
  barracks: { fill: "M0-.3L.66.52H.24L0 .2-.24.52H-.66ZM-.05-.3V-.72H.05L.42-.56.05-.42V-.3Z" },
  worker: { stroke: "M-.46.52L.26-.24M-.2-.56Q.4-.5.54.16" },
  melee_attacker: { stroke: "M-.2.2L.56-.56M-.46-.06L.06.46M-.28.28L-.54.54" },
  tower: { fill: "M-.5 .62L-.34-.2H-.5V-.62H-.28V-.42H-.12V-.62H.12V-.42H.28V-.62H.5V-.2H.34L.5 .62Z" },
  athlete: { stroke: "M.06-.62V-.5M0-.34L-.06.1M-.42-.2L0-.3.4-.08M-.06.1L.3.3.2.66M-.06.1L-.3.34-.5.6" },
  attacker: { stroke: "M-.5-.5L.5.5M.5-.5L-.5.5" },
  carry: { stroke: "M.02-.64Q.66 0 .02.64M.02-.64L-.26 0 .02.64M-.6 0H.56M.34-.2L.56 0 .34.2" },
  tank: { fill: "M0-.66L.54-.42V.02Q.5.46 0 .7Q-.5.46-.54.02V-.42Z" },
  support: { fill: "M-.2-.6H.2V-.2H.6V.2H.2V.6H-.2V.2H-.6V-.2H-.2Z" },
  melee: { stroke: "M-.2.2L.56-.56M-.46-.06L.06.46M-.28.28L-.54.54" },
  ranged: { stroke: "M.02-.64Q.66 0 .02.64M.02-.64L-.26 0 .02.64M-.6 0H.56" },
  ancient: { fill: "M-.66 .56V-.2L-.34.12 0-.6 .34.12 .66-.2V.56Z" },
  range_attacker: { stroke: "M.02-.64Q.66 0 .02.64M.02-.64L-.26 0 .02.64M-.6 0H.56M.34-.2L.56 0 .34.2" },
};
const paths = new Map();

function path(text) {
  if (!paths.has(text)) paths.set(text, new Path2D(text));
  return paths.get(text);
}

export function plateRadius(role) {
  return { base: 0.62, hero: 0.58, building: 0.52, resource: 0.5, worker: 0.33, tower: 0.44, flag: 0.34 }[role] ?? 0.38;
}

// The outline of a seat's plate: circle, square, hexagon, diamond.
export function tracePlate(ctx, seat, r) {
  ctx.beginPath();
  switch (seat % 4) {
    case 0:
      ctx.arc(0, 0, r, 0, 2 * Math.PI);
      break;
    case 1:
      ctx.roundRect(-0.88 * r, -0.88 * r, 1.76 * r, 1.76 * r, 0.26 * r);
      break;
    default: {
      const corners = seat % 4 === 2 ? 6 : 4;
      for (let i = 0; i < corners; i++) {
        const angle = (2 * Math.PI * i) / corners - Math.PI / 2;
        ctx.lineTo(1.1 * r * Math.cos(angle), 1.1 * r * Math.sin(angle));
      }
      ctx.closePath();
    }
  }
}

function drawCrystal(ctx, palette, seat, r) {
  ctx.lineJoin = "round";
  ctx.fillStyle = palette.gold;
  for (const [x, y, w, h] of [[-0.42, 0.2, 0.3, 0.5], [0.44, 0.24, 0.28, 0.46], [0, -0.06, 0.42, 0.86]]) {
    ctx.beginPath();
    ctx.moveTo(x * r, (y - h) * r);
    ctx.lineTo((x + w) * r, (y - 0.1 * h) * r);
    ctx.lineTo(x * r, (y + h) * r);
    ctx.lineTo((x - w) * r, (y - 0.1 * h) * r);
    ctx.closePath();
    ctx.fill();
    ctx.strokeStyle = palette.ground;
    ctx.lineWidth = 0.07 * r;
    ctx.stroke();
  }
  ctx.strokeStyle = palette.seat[seat] ?? palette.muted;
  ctx.lineWidth = 0.13 * r;
  ctx.setLineDash(seat % 2 ? [0.3 * r, 0.2 * r] : []);
  ctx.beginPath();
  ctx.arc(0, 0, 1.12 * r, 0.15 * Math.PI, 0.85 * Math.PI);
  ctx.stroke();
  ctx.setLineDash([]);
}

// A pennant whose pole stands at 0,0; r in pixels is about its half height.
export function drawFlag(ctx, palette, r) {
  ctx.save();
  ctx.lineWidth = 0.2 * r;
  ctx.lineCap = ctx.lineJoin = "round";
  ctx.strokeStyle = palette.ink;
  ctx.fillStyle = palette.gold;
  ctx.beginPath();
  ctx.moveTo(0, -1.1 * r);
  ctx.lineTo(1.2 * r, -0.65 * r);
  ctx.lineTo(0, -0.2 * r);
  ctx.closePath();
  ctx.fill();
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(0, -1.1 * r);
  ctx.lineTo(0, 0.9 * r);
  ctx.stroke();
  ctx.restore();
}

// Draws a unit of type {name, role} centred at 0,0 of ctx; r in pixels is the radius of its plate.
export function drawIcon(ctx, palette, type, seat, r) {
  ctx.save();
  if (type.role === "resource") {
    drawCrystal(ctx, palette, seat, r);
    ctx.restore();
    return;
  }
  if (type.role === "flag") {
    ctx.translate(-0.35 * r, 0);
    drawFlag(ctx, palette, r);
    ctx.restore();
    return;
  }
  tracePlate(ctx, seat, r);
  ctx.fillStyle = palette.seat[seat] ?? palette.muted;
  ctx.fill();
  ctx.strokeStyle = palette.ground;
  ctx.lineWidth = 0.1 * r;
  ctx.stroke();
  const glyph = GLYPHS[type.name];
  if (glyph) {
    ctx.scale(0.86 * r, 0.86 * r);
    if (glyph.fill) {
      ctx.fillStyle = palette.glyph;
      ctx.fill(path(glyph.fill));
    } else {
      ctx.strokeStyle = palette.glyph;
      ctx.lineWidth = 0.2;
      ctx.lineCap = ctx.lineJoin = "round";
      ctx.stroke(path(glyph.stroke));
    }
  } else {
    ctx.fillStyle = palette.glyph;
    ctx.font = `700 ${0.8 * r}px system-ui, sans-serif`;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    const letters = type.name.slice(0, 2) || "?";  // one letter would be the same for many
    ctx.fillText(letters[0].toUpperCase() + letters.slice(1), 0, 0.06 * r);
  }
  ctx.restore();
}

// A canvas of `size` CSS pixels with one icon, for legends and panels.
export function iconCanvas(palette, type, seat, size) {
  const canvas = document.createElement("canvas");
  const scale = Math.max(2, window.devicePixelRatio || 1);
  canvas.width = canvas.height = size * scale;
  canvas.className = "icon";
  canvas.setAttribute("aria-hidden", "true");
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  ctx.translate(size / 2, size / 2);
  drawIcon(ctx, palette, type, seat, size * 0.4);
  return canvas;
}
