// Rows and results in words.

const FATES = { late: "◀", rejected: "✕", filtered: "○", shed: "▽", counted: "●" };
const CHANGES = { insert: "+", revise: "↻", retract: "−" };
const ROLES = { members: "counted in it", bounds: "set a boundary of its window", trigger: "brought it about" };

function spellValue(value) {
  if (value === null) return "null";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  return Number.isFinite(value) && Math.abs(value) < 1e15 ? String(Number(value.toPrecision(9))) : String(value);
}

/** A value as a reader may look for it: with the digits that tables leave out. */
const fullValue = value => (value === null ? "null" : String(value));

function shortValue(value) {
  const text = typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(5))) : spellValue(value);
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function lifetimeOfRow(story, row) {
  const { rows, axis } = story, start = rows.start.exact(row), end = rows.end.exact(row);
  if (start === null) return "no time";
  return end === null || end === start + 1n ? axis.spell(start) : axis.interval(start, end);
}

function extentOfChange(story, number) {
  const { changes, axis } = story, start = changes.windowStart.exact(number);
  return start === null ? lifetimeOfChange(story, number) : axis.interval(start, changes.windowEnd.exact(number));
}

function lifetimeOfChange(story, number) {
  const { changes, axis } = story;
  return axis.interval(changes.start.exact(number), changes.end.exact(number));
}

/** A result as its key and its window name it. */
function resultWords(story, number) {
  const { changes, keys } = story, name = changes.windowName.at(number);
  return [keys[changes.key[number]], name, extentOfChange(story, number)].filter(Boolean).join(" · ");
}

function rowWords(story, row) {
  const { rows } = story;
  const values = rows.values.of(row).flatMap(([name, value]) => [name, ...new Set([spellValue(value), fullValue(value)])]);
  return [`row ${row}`, `batch ${rows.batch[row]}`, story.keys[rows.key[row]], rows.change.at(row), rows.fate.at(row),
    rows.input.at(row), rows.source.at(row) ?? "", lifetimeOfRow(story, row), ...values, rows.reason.at(row)];
}

function changeWords(story, number) {
  const { changes } = story;
  const values = changes.values.of(number).flatMap(([name, value]) => [name, ...new Set([spellValue(value), fullValue(value)])]);
  return [`result ${changes.result[number]}`, `batch ${changes.batch[number]}`, story.keys[changes.key[number]],
    changes.change.at(number), changes.isEarly[number] ? "early" : "", changes.windowName.at(number),
    extentOfChange(story, number), ...values];
}

/** The values of a result as short texts, the fullest first. */
function labelsOf(story, number, columns) {
  const found = columns.map(name => [name, story.changes.values.at(number, name)]).filter(([, value]) => value !== undefined);
  const rough = value => (typeof value === "number" && Math.abs(value) < 1e6 ? String(Number(value.toPrecision(3))) : shortValue(value));
  if (found.length < 2) return found.flatMap(([, value]) => [shortValue(value), rough(value)]);
  return [found.map(([name, value]) => `${name} ${shortValue(value)}`).join("  "), found.map(([, value]) => shortValue(value)).join(" · "), shortValue(found[0][1])];
}

/** What became of a row that is in no result, in a sentence. */
function whyNothing(story, row, position) {
  const { rows, batches, axis } = story, fate = rows.fate.at(row), reason = rows.reason.at(row);
  if (fate !== "counted") return `It caused nothing. It was ${fate}${reason ? `: ${reason}` : ""}.`;
  if (reason) return reason;
  const closes = rows.waitsFor.exact(row), batch = story.batchAt(position);
  if (closes !== null) {
    const watermark = batch < 0 ? EARLIEST : batches.watermark.exact(batch), held = batch < 0 ? null : batches.heldBy.at(batch);
    return `Its window is open until the watermark reaches ${axis.spell(closes)}; it is at ${axis.spell(watermark)}${held ? `, held back by ${held}` : ""}.`;
  }
  return rows.change.at(row) === "punctuate" ? "It moves the watermark and is in no result." : "It is in no result of this recording.";
}

/** A position in a line: the micro-batch, the watermark, and what came last. */
function positionWords(story, position) {
  const batch = story.batchAt(position, true);
  if (position === 0 || batch < 0) return "Nothing has come yet";
  const { batches } = story, moment = story.moments[position - 1];
  const what = moment >= 0 ? `row ${moment}` : `${story.changes.change.at(~moment)} of ${resultWords(story, ~moment)}`;
  const run = batches.run[batch] ? `, run ${batches.run[batch] + 1}` : "";
  const now = story.batchAt(position), held = now < 0 ? null : batches.heldBy.at(now);
  return `Micro-batch ${batches.number[batch]}${run} · ${what}${held ? ` · watermark held back by ${held}` : ""}`;
}

/** Make an element, with text and elements in it; text is never read as HTML. */
function make(name, attributes = {}, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...content.flat().filter(each => each !== null));
  return element;
}
