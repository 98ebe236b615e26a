// Keys: all that the mouse can do.

const KEYS = {
  ArrowRight: app => app.step(1),
  ArrowLeft: app => app.step(-1),
  "Shift+ArrowRight": app => app.sight.pan(0.2),
  "Shift+ArrowLeft": app => app.sight.pan(-0.2),
  ArrowDown: app => app.sight.scrollTo(app.sight.y + 60),
  ArrowUp: app => app.sight.scrollTo(app.sight.y - 60),
  PageDown: app => app.sight.scrollTo(app.sight.y + app.sight.height * 0.8),
  PageUp: app => app.sight.scrollTo(app.sight.y - app.sight.height * 0.8),
  Home: app => app.goTo(0),
  End: app => app.goTo(app.story.count),
  "+": app => app.sight.by(1.5),
  "=": app => app.sight.by(1.5),
  "-": app => app.sight.by(1 / 1.5),
  0: app => app.sight.showAll(),
  1: app => app.stepBy("row"),
  2: app => app.stepBy("batch"),
  3: app => app.stepBy("result"),
  Enter: app => app.selectCurrent(),
  Escape: app => app.leave(),
  "/": app => app.find.focus(),
  t: app => app.toggleTheme(),
  "?": app => app.help(true),
};

/** Keys in the search field, which move in the list of what was found. */
const KEYS_OF_FIND = {
  ArrowDown: app => app.matches.move(1),
  ArrowUp: app => app.matches.move(-1),
  Enter: app => app.matches.choose(),
};

function listenToKeys(app) {
  document.addEventListener("keydown", event => {
    const field = event.target.closest("input, select, textarea"), isSlider = event.target.type === "range";
    if (event.ctrlKey || event.metaKey || event.altKey || app.isHelping) return;
    const keys = field === app.find && event.key in KEYS_OF_FIND ? KEYS_OF_FIND : KEYS;
    if (field && !isSlider && event.key !== "Escape" && keys !== KEYS_OF_FIND) return;
    if (event.key === "Enter" && event.target.closest("button, summary, a")) return;
    const isBig = event.shiftKey && event.key.startsWith("Arrow");
    const act = keys[isBig ? `Shift+${event.key}` : event.key];
    if (!act) return;
    event.preventDefault();
    act(app);
  });
}
