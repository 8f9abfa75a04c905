// Returns the texts of a page that nothing explains, for tools/first_visits.py.
(() => {
  const shown = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== 'hidden';
  const plain = (text) => text.toLowerCase().replace(/[\d.,:;()×%+\-–↑↓←→/#]+/g, ' ').replace(/\s+/g, ' ').trim();
  const described = (node) => {
    for (let at = node, up = 0; at && up < 4; at = at.parentElement, up++) {
      if (at.title && at.title.trim()) return true;
      const by = at.getAttribute && at.getAttribute('aria-describedby');
      if (by && by.split(/\s+/).some((id) => document.getElementById(id)?.textContent.trim())) return true;
      if (at.querySelector && up > 0 && at.querySelector(':scope > small, :scope > .hint')?.textContent.trim()) return true;
      if (at.matches('main, form, aside, section, header, body, dialog, table')) break;
    }
    return false;
  };
  const guide = plain([JSON.stringify(window.ludus?.game?.hello?.guide ?? ''), document.querySelector('#guide')?.textContent ?? ''].join(' ').replaceAll('_', ' '));
  const found = new Set();
  const nodes = document.querySelectorAll('button, a.button, label, summary, th, dt, legend, h2, h3, .fact, .status, .notice, [role=status]');
  for (const node of nodes) {
    if (!shown(node) || node.closest('.sr-only, #guide, .guide-pairs, dialog:not([open])')) continue;
    const own = [...node.childNodes].filter((child) => child.nodeType === 3 || !child.matches?.('kbd, select, input, output, svg, canvas')).map((child) => child.textContent).join(' ');
    const text = own.replace(/\s+/g, ' ').trim();
    const name = plain(text);
    if (name.length < 2) continue;
    if (described(node) || text.split(' ').length >= 5 || /[.!?]$/.test(text)) continue;
    if (name.length > 2 && guide.includes(name)) continue;
    found.add(`${node.tagName.toLowerCase()}${node.id ? '#' + node.id : ''}: ${text}`);
  }
  return [...found];
})()
