// Columns as Python packed them (columns.py).

const EARLIEST = -(2n ** 63n);
const INFINITE = 2n ** 63n - 1n;
const CODES = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array, 8: BigUint64Array };
const SPECIAL = [null, EARLIEST, INFINITE];

function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Integers of 64 bits, or none in their places; `exact` gives them as BigInt, the others as numbers to compute with. */
class Integers {
  constructor(packed) {
    this.digits = packed.digits;
    if (this.digits) return;
    this.codes = new CODES[packed.width](bytesOf(packed.codes).buffer);
    this.least = BigInt(packed.least);
    this.step = BigInt(packed.step);
  }

  get length() { return (this.digits || this.codes).length; }

  exact(i) {
    if (this.digits) return this.digits[i] === null ? null : BigInt(this.digits[i]);
    const code = this.codes[i];
    return code < SPECIAL.length ? SPECIAL[Number(code)] : this.least + (BigInt(code) - 3n) * this.step;
  }

  /** A number where it is exact as one, else a BigInt. */
  plain(i) {
    const value = this.exact(i);
    return value === null || value > 2n ** 53n || value < -(2n ** 53n) ? value : Number(value);
  }

  /** Distances from an origin; none is NaN, and the ends of the axis are infinite. */
  distances(origin) {
    const found = new Float64Array(this.length);
    const offset = this.digits ? 0 : Number(this.least - origin), step = Number(this.step);
    for (let i = 0; i < found.length; i++) {
      if (this.digits || this.codes[i] < SPECIAL.length) {
        const value = this.exact(i);
        found[i] = value === null ? NaN : value === EARLIEST ? -Infinity : value === INFINITE ? Infinity : Number(value - origin);
      } else found[i] = offset + (Number(this.codes[i]) - 3) * step;
    }
    return found;
  }

  /** Small integers; -1 stands for none. */
  small() {
    const least = Number(this.least), step = Number(this.step);
    return Int32Array.from(this.codes, code => (code < SPECIAL.length ? -1 : least + (Number(code) - 3) * step));
  }

  /** The least and the largest of those that are no ends of the axis; nothing where there are none. */
  extent() {
    let least = -1, largest = -1;
    for (let i = 0; i < this.length; i++) {
      if (!this.digits && this.codes[i] < SPECIAL.length) continue;
      if (this.digits && SPECIAL.includes(this.exact(i))) continue;
      if (least < 0 || this.order(i, least) < 0) least = i;
      if (largest < 0 || this.order(i, largest) > 0) largest = i;
    }
    return least < 0 ? [] : [this.exact(least), this.exact(largest)];
  }

  order(i, j) {
    const [one, other] = this.digits ? [this.exact(i), this.exact(j)] : [this.codes[i], this.codes[j]];
    return one < other ? -1 : one > other ? 1 : 0;
  }
}

/** Lists of small integers. */
class Lists {
  constructor(packed) {
    const lengths = new Integers(packed.lengths).small();
    this.members = new Integers(packed.members).small();
    this.ends = new Int32Array(lengths.length + 1);
    lengths.forEach((length, i) => { this.ends[i + 1] = this.ends[i] + length; });
  }

  at(i) { return this.members.subarray(this.ends[i], this.ends[i + 1]); }
}

/** Values of any kind, those that differ kept once. */
class Words {
  constructor(packed) {
    this.words = packed.words;
    this.numbers = new Integers(packed.numbers).small();
  }

  at(i) { return this.words[this.numbers[i]]; }
}

function columnOf(packed) {
  if (packed.words) {
    const column = new Words(packed), lacks = new Set(packed.lacks ? new Integers(packed.lacks).small() : []);
    return i => (lacks.has(i) ? undefined : column.at(i));
  }
  if (packed.floats) {
    const numbers = new Float64Array(bytesOf(packed.floats).buffer);
    return i => numbers[i];
  }
  const integers = new Integers(packed);
  return i => integers.plain(i);
}

/** What rows hold, by name; a row need not have all. */
class Values {
  constructor(packed) {
    this.names = Object.keys(packed);
    this.columns = new Map(this.names.map(name => [name, columnOf(packed[name])]));
  }

  at(i, name) { return this.columns.get(name)?.(i); }

  /** The names and values that a row has. */
  of(i) {
    return this.names.map(name => [name, this.at(i, name)]).filter(([, value]) => value !== undefined);
  }
}
