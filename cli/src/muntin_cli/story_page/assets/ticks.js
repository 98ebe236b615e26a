// Ticks in words, as exact as they are: BigInts, of which an axis of time has a million in a second.

const SECOND = 1_000_000n, DAY = 86_400n * SECOND, YEARS = 8_640_000_000_000_000_000n;
const UNITS = [["day", DAY], ["h", 3600n * SECOND], ["min", 60n * SECOND], ["s", SECOND], ["ms", 1000n], ["µs", 1n]];
const floor = (value, step) => value - (((value % step) + step) % step);

/** The meaning of ticks: time, numbers with decimal places, or plain numbers. */
class Axis {
  constructor(text) {
    this.isTime = text === "time";
    this.places = Number(text.split(" ")[1] || 0);
    this.day = null;
  }

  /** Leave the date away where all times are of one day. */
  within(low, high) {
    if (this.isTime && floor(low, DAY) === floor(high, DAY)) this.day = floor(low, DAY);
  }

  get note() {
    if (!this.isTime) return this.places ? "" : "times in ticks";
    return this.day === null ? "times in UTC" : `times in UTC, ${this.date(this.day)}`;
  }

  date(tick) { return new Date(Number(tick / 1000n)).toISOString().slice(0, 10); }

  /** The time of the day, with as many places as it needs, or as a step between ticks needs. */
  clock(tick, step = null) {
    const rest = tick - floor(tick, DAY), micros = rest % SECOND;
    const text = new Date(Number((rest - micros) / 1000n)).toISOString().slice(11, 19);
    if (micros !== 0n) return `${text}.${String(micros).padStart(6, "0").replace(/0+$/, "")}`;
    return text.endsWith(":00") && (step === null || step % (60n * SECOND) === 0n) ? text.slice(0, 5) : text;
  }

  spell(tick) {
    if (tick === null) return "none";
    if (tick === INFINITE) return "∞";
    if (tick === EARLIEST) return "−∞";
    if (!this.isTime) return this.number(tick);
    if (tick > YEARS || tick < -YEARS) return String(tick);
    return floor(tick, DAY) === this.day ? this.clock(tick) : `${this.date(floor(tick, DAY))} ${this.clock(tick)}`;
  }

  number(tick) {
    if (!this.places) return String(tick);
    const digits = String(tick < 0n ? -tick : tick).padStart(this.places + 1, "0");
    return `${tick < 0n ? "-" : ""}${digits.slice(0, -this.places)}.${digits.slice(-this.places)}`;
  }

  interval(start, end) {
    const isOneDay = this.isTime && end < YEARS && start > -YEARS && floor(start, DAY) === floor(end, DAY);
    return `[${this.spell(start)}, ${isOneDay ? this.clock(end) : this.spell(end)})`;
  }

  length(ticks) {
    if (!this.isTime) return `${this.number(ticks)}${this.places ? "" : ticks === 1n ? " tick" : " ticks"}`;
    const words = [];
    let rest = ticks < 0n ? -ticks : ticks;
    for (const [name, size] of UNITS) {
      if (rest >= size) words.push(`${rest / size} ${name}${name === "day" && rest >= 2n * size ? "s" : ""}`);
      rest %= size;
    }
    return `${ticks < 0n ? "−" : ""}${words.slice(0, 3).join(" ") || "0 s"}`;
  }

  /** The tick that a reader typed: a number, a date, or a time of the day; null if it is none. */
  parse(text) {
    const typed = text.trim();
    if (!this.isTime) {
      const found = /^(-?\d+)(?:\.(\d+))?$/.exec(typed);
      return found ? BigInt(found[1] + (found[2] || "").padEnd(this.places, "0").slice(0, this.places)) : null;
    }
    if (/^-?\d{8,}$/.test(typed)) return BigInt(typed);
    const found = /^(?:(\d{4}-\d\d-\d\d)[T ]?)?(?:(\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6}))?)?Z?$/.exec(typed);
    if (!found || !typed || (!found[1] && this.day === null)) return null;
    const at = Date.parse(`${found[1] || this.date(this.day)}T${found[2] || "00:00"}Z`);
    return Number.isNaN(at) ? null : BigInt(at) * 1000n + BigInt((found[3] || "").padEnd(6, "0"));
  }

  /** Ticks to label between two, about so many, each with its label. */
  labels(low, high, count) {
    if (this.isTime && high - low > 20_000n * BigInt(Math.ceil(count)) && low > -YEARS && high < YEARS) {
      const dates = d3.utcTicks(new Date(Number(low / 1000n)), new Date(Number(high / 1000n)), count);
      const ticks = dates.map(date => BigInt(date.getTime()) * 1000n);
      const step = ticks.length > 1 ? ticks[1] - ticks[0] : null;
      return ticks.map(tick => [tick, floor(tick, DAY) === tick ? this.date(tick) : this.clock(tick, step)]);
    }
    const step = BigInt(Math.max(1, Math.round(d3.tickStep(0, Number(high - low), count))));
    const found = [];
    for (let tick = floor(low + step - 1n, step); tick <= high && found.length < 99; tick += step) {
      found.push([tick, this.isTime ? this.clock(tick) : this.number(tick)]);
    }
    return found;
  }
}
