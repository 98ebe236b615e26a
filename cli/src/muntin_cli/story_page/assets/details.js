// The panel that says all of one row or one result, and leads from each to its causes and back.

const MOST_LISTED = 200;

class Details {
  constructor(element, app) {
    Object.assign(this, { element, app });
  }

  show(selected) {
    const { story } = this.app;
    this.element.replaceChildren(...(selected === null ? this.nothing() : selected.kind === "row" ? this.row(selected.number) : this.change(selected.number)));
    this.element.scrollTop = 0;
    this.element.setAttribute("aria-label", selected === null ? "Nothing is selected" : `Details of ${selected.kind === "row" ? "row" : "result"} ${selected.kind === "row" ? selected.number : story.changes.result[selected.number]}`);
  }

  nothing() {
    return [make("p", { class: "hint" }, "Select a result to see the rows that made it, or a row to see what it caused.")];
  }

  head(title, subtitle, onClose = true) {
    return make("header", {}, make("h2", {}, title), make("span", { class: "sub" }, subtitle),
      onClose ? make("button", { class: "quiet close", "aria-label": "Deselect", title: "Deselect (Esc)", onclick: () => this.app.select(null) }, "✕") : null);
  }

  facts(pairs) {
    return make("dl", {}, pairs.filter(([, value]) => value !== "" && value !== null && value !== undefined)
      .map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
  }

  row(row) {
    const { story, position } = this.app, { rows, axis } = story;
    const fate = rows.fate.at(row), event = rows.event[row], newEnd = rows.newEnd.exact(row);
    const caused = story.causedBy(row), seen = caused.filter(([number]) => story.changes.at[number] < position);
    const facts = [
      [story.keyNames.join(" · ") || "key", story.keys[rows.key[row]]], ["time", lifetimeOfRow(story, row)],
      ["new end", newEnd === null ? "" : axis.spell(newEnd)], ["change", rows.change.at(row)],
      ["input", rows.input.at(row)], ["source", rows.source.at(row)], ["micro-batch", String(rows.batch[row])],
      ["fate", `${FATES[fate]} ${fate}`],
      ...rows.values.of(row).map(([name, value]) => [name, fullValue(value)]),
    ];
    const origin = this.app.chain.originOf(row);
    const changed = (story.changesOfEvent.get(event >= 0 ? event : row) ?? []).filter(each => rows.at[each] < position);
    return [
      this.head(`Row ${row}`, `${rows.change.at(row)} in micro-batch ${rows.batch[row]}`),
      this.facts(facts),
      ...(origin ? [this.list("The result that it is", [origin], each => this.originButton(each))] : []),
      ...(event >= 0 && event !== row ? [this.list("The event that it changes", [event], each => this.rowButton(each))] : []),
      ...(event === row && changed.length ? [this.list("Rows that change it", changed, each => this.rowButton(each))] : []),
      seen.length
        ? this.list("What it caused", seen, ([number, role]) => this.changeButton(number, ROLES[role]))
        : make("p", { class: "why" }, make("strong", {}, "Why nothing: "), caused.length
          ? "the results that it is in have not come yet at this position." : whyNothing(story, row, position)),
    ];
  }

  change(number) {
    const { story, position } = this.app, { changes, axis } = story, result = changes.result[number];
    const history = story.changesOfResult.get(result).filter(each => changes.at[each] < position);
    const newEnd = changes.newEnd.exact(number), hasWindow = changes.windowStart.exact(number) !== null;
    const facts = [
      [story.keyNames.join(" · ") || "key", story.keys[changes.key[number]]],
      ["window", hasWindow ? `${changes.windowName.at(number) ? `${changes.windowName.at(number)} ` : ""}${extentOfChange(story, number)}` : ""],
      ["lifetime", lifetimeOfChange(story, number)], ["new end", newEnd === null ? "" : axis.spell(newEnd)],
      ["early", changes.isEarly[number] ? `yes, firing ${changes.firing[number]}` : ""],
      ["micro-batch", String(changes.batch[number])],
    ];
    const values = changes.values.of(number).map(([name, value]) => [name, fullValue(value)]);
    const readers = this.app.chain.readersOf(number);
    return [
      this.head(`Result ${result}`, `${CHANGES[changes.change.at(number)] ?? ""} ${changes.change.at(number)} in micro-batch ${changes.batch[number]}`),
      make("div", { class: "values" }, this.facts(values)), this.facts(facts),
      ...(history.length > 1 ? [this.list("How it changed", history, each => this.changeButton(each, each === number ? "shown here" : "", each === number))] : []),
      ...["members", "bounds", "trigger"].map(role => {
        const found = Array.from(changes[role].at(number));
        return found.length || role === "members" ? this.rowList(this.titleOf(role, found.length), found, role) : null;
      }).filter(each => each !== null),
      ...(readers.length ? [this.list("Passed on", readers, each => this.readerButton(each))] : []),
    ];
  }

  titleOf(role, count) {
    const rows = `${count.toLocaleString("en")} row${count === 1 ? "" : "s"}`;
    return { members: `Made of ${rows}`, bounds: `${rows} set its boundaries`, trigger: `Brought about by ${rows}` }[role];
  }

  /** A list of rows, which a reader may sort by a column of numbers, so that one unlike the others comes first. */
  rowList(title, found, role) {
    const { values } = this.app.story.rows, section = this.list(title, found, row => this.rowButton(row), role);
    const columns = values.names.filter(name => found.some(row => typeof values.at(row, name) === "number"));
    if (found.length < 3 || !columns.length) return section;
    const orders = columns.flatMap(name => [[`largest ${name} first`, name, -1], [`smallest ${name} first`, name, 1]]);
    const choice = make("select", { "aria-label": "Order of the rows", onchange: () => {
      const [, name, way] = orders[choice.value] ?? [], at = row => Number(values.at(row, name) ?? NaN);
      const sorted = name === undefined ? found : [...found].sort((a, b) => way * (at(a) - at(b)) || a - b);
      section.lastChild.replaceWith(this.list(title, sorted, row => this.rowButton(row), role).lastChild);
    } }, make("option", { value: -1 }, "as they came"), orders.map(([text], i) => make("option", { value: i }, text)));
    section.firstChild.append(choice);
    return section;
  }

  list(title, items, make_item, role = "") {
    const list = make("ul", {});
    const more = from => {
      list.append(...items.slice(from, from + MOST_LISTED).map(item => make("li", {}, make_item(item))));
      const left = items.length - from - MOST_LISTED;
      if (left > 0) {
        const button = make("button", { class: "quiet", onclick: () => { button.parentElement.remove(); more(from + MOST_LISTED); } }, `${left.toLocaleString("en")} more`);
        list.append(make("li", {}, button));
      }
    };
    more(0);
    return make("section", { "data-role": role || false }, make("h3", {}, title), list);
  }

  /** A button that leads to a result of a query before. */
  originButton([place, number]) {
    const { chain } = this.app, story = chain.stories[place], { changes } = story;
    return make("button", { class: "item", "data-origin": number, onclick: () => chain.show(place, { kind: "change", number }) },
      make("span", { class: "sign", "aria-hidden": "true" }, CHANGES[changes.change.at(number)] ?? "·"),
      make("b", {}, `result ${changes.result[number]} of query ${place + 1}`),
      make("span", {}, labelsOf(story, number, changes.values.names)[0] ?? ""),
      make("span", { class: "sub" }, `${story.keys[changes.key[number]]} · ${extentOfChange(story, number)}`));
  }

  /** A button that leads to a row of a query that reads a result. */
  readerButton([place, row]) {
    const { chain } = this.app, story = chain.stories[place];
    return make("button", { class: "item", "data-reader": row, onclick: () => chain.show(place, { kind: "row", number: row }) },
      make("span", { class: "sign", "aria-hidden": "true" }, FATES[story.rows.fate.at(row)]),
      make("b", {}, `row ${row} of query ${place + 1}`), make("span", { class: "sub" }, story.title));
  }

  rowButton(row) {
    const { story } = this.app, { rows } = story, fate = rows.fate.at(row);
    const values = rows.values.of(row).map(([name, value]) => `${name} ${shortValue(value)}`).join(", ");
    return make("button", { class: "item", "data-row": row, onclick: () => this.app.select({ kind: "row", number: row }, true) },
      make("span", { class: "sign", "aria-hidden": "true" }, FATES[fate]), make("b", {}, `row ${row}`),
      make("span", {}, lifetimeOfRow(story, row)), make("span", { class: "sub" }, rows.change.at(row) === "insert" ? values : `${rows.change.at(row)} ${values}`));
  }

  changeButton(number, note, isHere = false) {
    const { story } = this.app, { changes } = story;
    return make("button", { class: "item", "data-change": number, "aria-current": isHere ? "true" : false, onclick: () => this.app.select({ kind: "change", number }, true) },
      make("span", { class: "sign", "aria-hidden": "true" }, CHANGES[changes.change.at(number)] ?? "·"),
      make("b", {}, `${changes.change.at(number)} of ${resultWords(story, number)}`),
      make("span", {}, labelsOf(story, number, this.app.filters.columns)[0] ?? ""),
      make("span", { class: "sub" }, [`result ${changes.result[number]}`, note].filter(Boolean).join(" · ")));
  }
}
