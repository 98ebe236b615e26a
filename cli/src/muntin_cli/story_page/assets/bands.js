// Where things lie from top to bottom: a band for each key, with lanes of events, other rows, and results.

const HEAD = 20, GAP = 6, MARKS = 16;

/** The height of a lane: less where there are many. */
const laneHeight = (count, high, room) => Math.max(4, Math.min(high, Math.floor(room / Math.max(1, count))));

class Bands {
  constructor(story, filters, hasGutter) {
    this.hasGutter = hasGutter;
    this.list = [];
    let y = 0;
    for (const key of filters.shown) {
      const band = this.bandOf(story, key, y);
      this.list.push(band);
      y += band.height;
    }
    this.height = y;
  }

  bandOf(story, key, y) {
    const content = story.bandOfKey[key];
    let at = y + (this.hasGutter ? GAP : HEAD);
    const hasInputs = content.inputs.some(name => name);
    if (this.hasGutter && hasInputs) at += HEAD - GAP;
    const band = { key, y, lanes: content.lanes, inputs: content.inputs, others: content.others, laneHeight: laneHeight(content.lanes.length, 18, 216) };
    band.lanesTop = at;
    if (content.lanes.length) at += content.lanes.length * band.laneHeight + GAP;
    band.othersTop = at;
    if (content.others.bars.length) at += MARKS + GAP;
    band.groups = Array.from(content.windows, ([name, lanes]) => {
      const group = { name, lanes, top: at, laneHeight: laneHeight(lanes.length, 24, 240) };
      at += lanes.length * group.laneHeight + GAP;
      return group;
    });
    band.height = Math.max(at + 2 - y, this.hasGutter ? 30 : 0);
    return band;
  }

  /** The bands that are between two heights. */
  between(top, bottom) {
    const first = d3.bisector(band => band.y).right(this.list, top) - 1;
    const last = d3.bisector(band => band.y).left(this.list, bottom);
    return this.list.slice(Math.max(0, first), last);
  }

  of(key) { return this.list.find(band => band.key === key); }

  /** The middle of a row's mark. */
  middleOfRow(story, row) {
    const band = this.of(story.rows.key[row]);
    if (!band) return null;
    const event = story.rows.kind[row] === CHANGE ? story.rows.event[row] : row;
    if (story.rows.kind[event] !== EVENT) return band.othersTop + MARKS / 2;
    return band.lanesTop + (story.rows.lane[event] + 0.5) * band.laneHeight;
  }

  middleOfResult(story, number) {
    const band = this.of(story.changes.key[number]);
    const group = band?.groups.find(each => each.name === story.changes.windowName.at(number));
    return group ? group.top + (story.changes.lane[number] + 0.5) * group.laneHeight : null;
  }
}
