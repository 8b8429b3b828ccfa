/** Reads pictures by pointer, touch and keys. The figures come from the table below, whose id `figure[data-reading]` has. */

/** How far from a stop it is still meant. */
const REACH_PX = 60;

function makeReadable(figure) {
  const table = document.getElementById(figure.dataset.reading);
  const [, ...columns] = table.tHead.rows[0].cells;
  const rows = new Map(
    [...table.tBodies[0].rows].map(({ cells: [name, ...rest] }) => [name.textContent, rest]),
  );
  const add = (parent, className, rest) => {
    const part = Object.assign(document.createElement('div'), { className, ...rest });
    parent.append(part);
    return part;
  };
  const last = rows.size - 1;
  const reader = add(figure, 'reader', {
    ...{ role: 'slider', tabIndex: 0, ariaLabel: table.caption.textContent },
    ...{ ariaValueMin: 0, ariaValueMax: last, ariaValueNow: last },
  });
  const box = add(figure, 'reading', { ariaLive: 'polite' });
  const mark = add(figure, 'mark');

  /** Years along the plot of lines, or countries at their dots, from left to right. */
  const findStops = () => {
    const svg = [...figure.querySelectorAll('svg')].find((one) => one.checkVisibility());
    const plot = svg.querySelector('[data-years]');
    const stops = [...svg.querySelectorAll('circle:has(title)')].map((dot) => {
      const { x, y, width } = dot.getBoundingClientRect();
      return { name: dot.textContent, x: x + width / 2, y: y + width / 2 };
    });
    if (!plot) return stops.sort((a, b) => a.x - b.x);
    const [from, to] = plot.dataset.years.split(' ');
    const { x, width } = plot.getBoundingClientRect();
    return [...rows.keys()].reverse().map((name) => ({ name, x: x + (width * (name - from)) / (to - from) }));
  };

  let at = Infinity;
  const hide = () => box.replaceChildren();
  const show = (wanted) => {
    const stops = findStops();
    at = Math.max(0, Math.min(wanted, stops.length - 1));
    const { name, x, y } = stops[at];
    hide();
    add(box, 'name', { textContent: name });
    for (const [index, { textContent }] of rows.get(name).entries())
      add(box, y ? '' : `c${index}`, { textContent: `${columns[index].textContent}: ${textContent}` });
    Object.assign(reader, { ariaValueMax: stops.length - 1, ariaValueNow: at, ariaValueText: name });
    const frame = figure.getBoundingClientRect();
    const [left, top] = [x - frame.x, y ? y - frame.y : 0];
    mark.className = y ? 'mark dot' : 'mark';
    mark.style.cssText = `left:${left}px;top:${top}px`;
    const beside = left < frame.width / 2 ? left + 12 : left - box.offsetWidth - 12;
    box.style.cssText = `left:${Math.max(0, beside)}px;top:${top}px`;
  };
  const point = ({ clientX, clientY }) => {
    const distances = findStops().map(({ x, y = clientY }) => Math.hypot(x - clientX, y - clientY));
    const least = Math.min(...distances);
    if (least < REACH_PX) show(distances.indexOf(least));
    else hide();
  };
  reader.onpointerdown = reader.onpointermove = point;
  reader.onpointerleave = ({ pointerType }) => pointerType === 'mouse' && hide();
  reader.onfocus = () => show(at);
  reader.onblur = hide;
  reader.onkeydown = (event) => {
    const [less, more] = [at - 1, at + 1];
    const keys = {
      ArrowLeft: less,
      ArrowDown: less,
      ArrowRight: more,
      ArrowUp: more,
      Home: 0,
      End: Infinity,
    };
    if (event.key === 'Escape') hide();
    if (!(event.key in keys)) return;
    event.preventDefault();
    show(keys[event.key]);
  };
}

const makeAllReadable = () =>
  document.querySelectorAll('figure[data-reading]:not(:has(.reader))').forEach(makeReadable);

makeAllReadable();
// The other script has put new parts into the page.
document.addEventListener('enhance', makeAllReadable);
