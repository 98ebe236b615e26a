// What a search finds, listed below the search field to choose from.

const MOST_MATCHES = 8;

class Matches {
  constructor(app, list) {
    Object.assign(this, { app, list, found: [], active: 0 });
    const { find } = app;
    find.setAttribute("role", "combobox");
    find.setAttribute("aria-autocomplete", "list");
    find.setAttribute("aria-controls", list.id);
    find.addEventListener("focus", () => this.show());
    find.addEventListener("blur", () => this.hide());
    // A press on a match must not take the focus from the field before the click arrives.
    list.addEventListener("pointerdown", event => event.preventDefault());
    this.hide();
  }

  get isShown() { return !this.list.hidden; }

  /** List what the text of the field finds, the best first. */
  show() {
    const all = this.app.filters.matches(this.app.position);
    this.found = all.slice(0, MOST_MATCHES);
    this.active = 0;
    const options = this.found.map((match, place) => make("li", { id: `match-${place}`, role: "option", onclick: () => this.choose(place) }, this.wordsOf(match)));
    const more = all.length - this.found.length;
    if (more > 0) options.push(make("li", { class: "sub", role: "presentation" }, `${more.toLocaleString("en")} more in the tables`));
    this.list.replaceChildren(...options);
    this.list.hidden = this.found.length === 0;
    this.app.find.setAttribute("aria-expanded", String(this.isShown));
    this.mark();
  }

  hide() {
    this.list.hidden = true;
    this.app.find.setAttribute("aria-expanded", "false");
    this.app.find.removeAttribute("aria-activedescendant");
  }

  wordsOf({ kind, number }) {
    const { story, filters } = this.app, isRow = kind === "row";
    const values = isRow ? this.app.noteOf(number) : labelsOf(story, number, filters.columns)[0] ?? "";
    const place = isRow ? `${story.keys[story.rows.key[number]]} · ${lifetimeOfRow(story, number)}` : resultWords(story, number);
    const sign = isRow ? FATES[story.rows.fate.at(number)] : CHANGES[story.changes.change.at(number)];
    return [make("span", { class: "sign", "aria-hidden": "true" }, sign ?? "·"), make("b", {}, values), make("span", { class: "sub" }, `${isRow ? "row" : "result"} of ${place}`)];
  }

  /** Mark another match as the one that Enter chooses. */
  move(by) {
    if (!this.found.length) return;
    this.active = (this.active + by + this.found.length) % this.found.length;
    this.mark();
  }

  mark() {
    if (!this.isShown) return;
    [...this.list.children].forEach((option, place) => {
      if (option.role === "option") option.setAttribute("aria-selected", String(place === this.active));
    });
    this.app.find.setAttribute("aria-activedescendant", `match-${this.active}`);
    this.list.children[this.active].scrollIntoView({ block: "nearest" });
  }

  choose(place = this.active) {
    const match = this.found[place];
    if (!match) return;
    this.hide();
    const table = match.kind === "row" ? "rows" : "changes";
    this.app.showTable(table);
    this.app.select(match, true);
    this.app.tables.find(each => each.kind === table).table.focus({ preventScroll: true });
  }
}
