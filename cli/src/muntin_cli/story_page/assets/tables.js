// The story as tables: the alternative to the picture. Only the lines in sight are elements.

const LINE = 30, SPARE = 12;

/** What a table has: its columns, and one text for each column of a line. */
const TABLES = {
  changes: {
    filter: "change",
    heads: app => ["change", app.story.keyNames.join(" · ") || "key", ...app.filters.columns, "window", "batch", "result"],
    cells(app, i) {
      const { changes, keys } = app.story;
      const values = app.filters.columns.map(name => changes.values.at(i, name));
      return [`${CHANGES[changes.change.at(i)] ?? ""} ${changes.change.at(i)}${changes.isEarly[i] ? ", early" : ""}`, keys[changes.key[i]],
        ...values.map(value => (value === undefined ? "" : spellValue(value))), extentOfChange(app.story, i), String(changes.batch[i]), String(changes.result[i])];
    },
  },
  rows: {
    filter: "row",
    heads: app => ["row", app.story.keyNames.join(" · ") || "key", "time", ...app.story.rows.values.names, "change", "fate", "reason", "batch"],
    cells(app, i) {
      const { rows, keys } = app.story, fate = rows.fate.at(i);
      const values = rows.values.names.map(name => rows.values.at(i, name));
      return [`${FATES[fate]} ${i}`, keys[rows.key[i]], lifetimeOfRow(app.story, i),
        ...values.map(value => (value === undefined ? "" : spellValue(value))), rows.change.at(i), fate, rows.reason.at(i), String(rows.batch[i])];
    },
  },
};

class Table {
  constructor(kind, app, box) {
    Object.assign(this, { kind, app, box, list: [] });
    this.spec = TABLES[kind];
    this.head = make("thead");
    this.body = make("tbody");
    const caption = kind === "rows" ? "Rows of the input that have come" : "Changes of the results that have come";
    this.table = make("table", { role: "grid", tabindex: 0, "aria-label": caption }, this.head, this.body);
    box.replaceChildren(this.table);
    box.addEventListener("scroll", () => this.render());
    this.table.addEventListener("keydown", event => this.key(event));
  }

  /** Take what has come and is shown. */
  update() {
    const { app } = this, { at, count } = app.story[this.kind], shown = app.filters[this.spec.filter];
    this.list = [];
    for (let i = 0; i < count; i++) if (shown[i] && at[i] < app.position) this.list.push(i);
    this.head.replaceChildren(make("tr", { "aria-rowindex": 1 }, this.spec.heads(app).map(head => make("th", { scope: "col" }, head))));
    this.table.setAttribute("aria-rowcount", this.list.length + 1);
    this.render(true);
  }

  render() {
    const { app, box, list } = this, selected = app.selected;
    if (box.hidden) return;
    const first = Math.max(0, Math.floor(box.scrollTop / LINE) - SPARE);
    const last = Math.min(list.length, Math.ceil((box.scrollTop + box.clientHeight) / LINE) + SPARE);
    const own = this.kind === "rows" ? "row" : "change";
    const lines = [];
    for (let place = first; place < last; place++) {
      const i = list[place], isSelected = selected?.kind === own && selected.number === i;
      lines.push(make("tr", {
        id: `${own}-${i}`, [`data-${own}`]: i, "aria-rowindex": place + 2, "aria-selected": String(isSelected), class: app.toneOf(own, i),
        onclick: () => { this.table.focus({ preventScroll: true }); app.select({ kind: own, number: i }, true); },
      }, this.spec.cells(app, i).map(text => make("td", { title: text.length > 30 ? text.slice(0, 500) : false }, text.length > 200 ? `${text.slice(0, 200)}…` : text))));
    }
    const spacer = height => {
      const cell = make("td", { colspan: 99 });
      cell.style.height = `${height}px`;
      return make("tr", { class: "spacer", "aria-hidden": "true" }, cell);
    };
    this.body.replaceChildren(spacer(first * LINE), ...lines, spacer((list.length - last) * LINE));
    if (selected?.kind === own) this.table.setAttribute("aria-activedescendant", `${own}-${selected.number}`);
    else this.table.removeAttribute("aria-activedescendant");
  }

  /** Scroll to a line. */
  reach(number) {
    const place = d3.bisectLeft(this.list, number), { box } = this;
    if (this.list[place] !== number) return;
    const top = place * LINE;
    if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 2 * LINE) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
  }

  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined || !this.list.length || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const own = this.kind === "rows" ? "row" : "change", { selected } = this.app;
    const place = selected?.kind === own ? d3.bisectLeft(this.list, selected.number) : by > 0 ? -1 : 0;
    const next = Math.max(0, Math.min(this.list.length - 1, place + by));
    this.app.select({ kind: own, number: this.list[next] }, true);
  }
}
