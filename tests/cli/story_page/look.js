// What one page looks like at its present width, as plain data.
() => {
  const shown = element => element.getClientRects().length > 0 && element.checkVisibility();
  const named = element => (element.textContent || element.id || element.tagName).trim().slice(0, 60);
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const small = new Map();
  while (words.nextNode()) {
    const text = words.currentNode, element = text.parentElement;
    if (!text.data.trim() || !shown(element) || element.closest("svg, script, style, noscript")) continue;
    const size = parseFloat(getComputedStyle(element).fontSize);
    if (size < SMALLEST) small.set(`${size.toFixed(1)} px: ${text.data.trim().slice(0, 40)}`, true);
  }
  const scrolls = element => {
    for (let at = element; at && at !== document.body; at = at.parentElement)
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return true;
    return false;
  };
  const width = document.documentElement.clientWidth;
  const wide = [...document.querySelectorAll("main *")]
    .filter(element => shown(element) && element.getBoundingClientRect().right > width + 1 && !scrolls(element));
  const images = [...document.images].filter(shown);
  return {
    title: document.title,
    links: [...document.links].map(link => link.href),
    anchors: [...document.querySelectorAll("[id]")].map(element => element.id),
    scrolls: document.scrollingElement.scrollWidth > width,
    wide: wide.map(named),
    small: [...small.keys()],
    broken: images.filter(image => !image.complete || image.naturalWidth === 0).map(image => image.src),
    nameless: images.filter(image => !image.alt.trim() && !image.closest(".md-logo")).map(image => image.src),
  };
}
