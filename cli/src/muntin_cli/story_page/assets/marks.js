// The marks of the picture, as the drawings of the documentation have them, and the patterns that tell them apart.

const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";
const COLOURS = ["paper", "edge", "ink", "soft", "event", "result", "mark", "pane", "other", "rim", "rim2", "fill", "pale", "pale2"];

/** The colours of the present theme, and patterns in them. */
class Ink {
  constructor(context) {
    const style = getComputedStyle(document.documentElement);
    for (const name of COLOURS) this[name] = style.getPropertyValue(`--${name}`).trim();
    this.hatch = this.pattern(context, pen => { pen.moveTo(0, 6); pen.lineTo(6, 0); pen.moveTo(-1, 1); pen.lineTo(1, -1); pen.moveTo(5, 7); pen.lineTo(7, 5); }, this.pale2);
    this.crowd = this.pattern(context, pen => { pen.moveTo(1.5, 0); pen.lineTo(1.5, 6); pen.moveTo(4.5, 0); pen.lineTo(4.5, 6); }, this.pale);
  }

  pattern(context, draw, colour) {
    const tile = document.createElement("canvas"), pen = tile.getContext("2d");
    tile.width = tile.height = 6;
    pen.strokeStyle = colour;
    pen.beginPath();
    draw(pen);
    pen.stroke();
    return context.createPattern(tile, "repeat");
  }
}

function box(pen, x, y, width, height, fill, stroke, dash = []) {
  pen.beginPath();
  pen.roundRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1, 3);
  pen.fillStyle = fill;
  pen.fill();
  if (!stroke) return;
  pen.setLineDash(dash);
  pen.strokeStyle = stroke;
  pen.stroke();
  pen.setLineDash([]);
}

function dot(pen, x, y, radius, fill, stroke) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = fill;
  pen.fill();
  if (stroke) { pen.strokeStyle = stroke; pen.lineWidth = 1.8; pen.stroke(); pen.lineWidth = 1; }
}

function line(pen, x0, y0, x1, y1, colour, width = 1, dash = []) {
  pen.beginPath();
  pen.setLineDash(dash);
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
  pen.lineWidth = 1;
  pen.setLineDash([]);
}

function shape(pen, points, fill, stroke) {
  pen.beginPath();
  points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
  pen.closePath();
  if (fill) { pen.fillStyle = fill; pen.fill(); }
  if (stroke) { pen.strokeStyle = stroke; pen.lineWidth = 1.5; pen.stroke(); pen.lineWidth = 1; }
}

/** An event: a line from a dot to a ring; a dot alone where it lasts one tick, an arrow where it has no end yet. */
function drawEvent(pen, ink, x0, x1, y, height, isPoint, isOpen, isGone) {
  const colour = isGone ? ink.pale : ink.event, radius = Math.min(5, height / 2 - 1.5), thick = Math.max(2, Math.min(5, height / 3));
  if (isPoint || (x1 - x0 < 3 * radius && !isOpen)) dot(pen, x0 + radius, y, radius, colour);
  else {
    line(pen, x0 + radius, y, x1 - (isOpen ? 4 : radius * 1.6), y, colour, thick);
    dot(pen, x0 + radius, y, radius, colour);
    if (isOpen) shape(pen, [[x1 - 8, y - radius - 1], [x1, y], [x1 - 8, y + radius + 1]], colour);
    else dot(pen, x1 - radius, y, radius - 1, ink.paper, colour);
  }
  if (isGone) line(pen, x0 - 3, y + radius + 1, Math.max(x1, x0 + 2 * radius) + 3, y - radius - 1, ink.mark, 1.8);
}

/** The sign of a row that is no event, by its fate. */
function drawOther(pen, ink, x, y, fate) {
  const r = 4.5;
  if (fate === "late") shape(pen, [[x - r, y], [x + r - 1, y - r], [x + r - 1, y + r]], ink.mark);
  else if (fate === "rejected") {
    line(pen, x - r + 1, y - r + 1, x + r - 1, y + r - 1, ink.mark, 2);
    line(pen, x - r + 1, y + r - 1, x + r - 1, y - r + 1, ink.mark, 2);
  } else if (fate === "filtered") dot(pen, x, y, r - 1, ink.paper, ink.soft);
  else if (fate === "shed") shape(pen, [[x - r, y - r + 1], [x + r, y - r + 1], [x, y + r]], ink.paper, ink.mark);
  else shape(pen, [[x - r, y], [x, y - r], [x + r, y], [x, y + r]], ink.soft);
}

/** A result over its window: a box with its value, dashed while it is early, hatched and struck where it is retracted. */
function drawResult(pen, ink, x0, x1, y, height, look, label) {
  const width = Math.max(3, x1 - x0), top = y - height / 2 + 1, tall = height - 2;
  box(pen, x0, top, width, tall, look.isGone ? ink.paper : look.isEarly ? ink.pane : ink.fill, look.isGone ? ink.pale2 : ink.result, look.isEarly ? [4, 3] : []);
  if (look.isGone) {
    pen.fillStyle = ink.hatch;
    pen.fillRect(x0 + 1, top + 1, width - 2, tall - 2);
  } else if (!look.isEarly && tall > 8 && width > 6) {
    pen.fillStyle = ink.result;
    pen.fillRect(x0 + 3, top + tall - 4, width - 6, look.isRevised ? 1 : 2.5);
    if (look.isRevised) pen.fillRect(x0 + 3, top + tall - 6.5, width - 6, 1);
  }
  if (label) {
    pen.textAlign = "center";
    pen.font = `600 ${FONT}`;
    if (look.isGone) { const room = pen.measureText(label).width; pen.fillStyle = ink.paper; pen.fillRect((x0 + x1 - room) / 2 - 3, top + 2, room + 6, tall - 4); }
    pen.fillStyle = look.isGone ? ink.soft : ink.ink;
    pen.fillText(label, (x0 + x1) / 2, y - (look.isGone || look.isEarly ? 0 : 1));
    pen.font = FONT;
    pen.textAlign = "left";
  }
  if (look.isGone) line(pen, x0 - 2, top + tall - 2, x0 + width + 2, top + 2, ink.mark, 1.8);
}

/** Many bars at once: a block with their number, with the edges of those behind it; flat where lanes are thin. */
function drawCrowd(pen, ink, x0, x1, y, height, count, isResult) {
  const tall = Math.max(3, height - 3), top = y - tall / 2, [fill, rim, back] = isResult ? [ink.fill, ink.pale2, ink.hatch] : [ink.pane, ink.pale, ink.crowd];
  const label = `×${shortCount(count)}`, hasRoom = height >= 13 && x1 - x0 >= label.length * 7 + 4;
  if (height < 13) {
    pen.fillStyle = rim;
    pen.fillRect(x0, top, x1 - x0 - 1, tall);
    return;
  }
  pen.fillStyle = fill;
  pen.fillRect(x0, top, x1 - x0 - 1, tall);
  if (!hasRoom) {
    pen.fillStyle = back;
    pen.fillRect(x0, top, x1 - x0 - 1, tall);
  }
  pen.strokeStyle = rim;
  pen.strokeRect(x0 + 0.5, top + 0.5, Math.max(1, x1 - x0 - 2), tall - 1);
  if (!hasRoom) return;
  line(pen, x1 - 3.5, top, x1 - 3.5, top + tall, rim);
  pen.fillStyle = isResult ? ink.result : ink.event;
  pen.textAlign = "center";
  pen.fillText(label, (x0 + x1) / 2 - 1, y + 0.5);
  pen.textAlign = "left";
}

const shortCount = count => (count < 1000 ? String(count) : count < 1e6 ? `${(count / 1000).toFixed(count < 1e4 ? 1 : 0)}k` : `${(count / 1e6).toFixed(1)}M`);
