/**
 * The map of an indicator: the countries of `figure[data-map]` are read by arrow keys; `form[data-time]` gets a slider for its
 * year and a button that plays the years, while its file of classes colours the map.
 */

const STEP_MS = 250;

const make = (name, rest) => Object.assign(document.createElement(name), rest);
const byId = (id) => document.getElementById(id);

/** Removes figures, which are of another year. */
function colour(year, { years, classes }) {
  const groups = [...document.querySelectorAll('.world > g')];
  const at = years.indexOf(Number(year));
  for (const shape of document.querySelectorAll('.world > g > *')) {
    const code = shape.dataset.iso3 ?? shape.getAttribute('href').slice(-3);
    shape.replaceChildren();
    (groups[classes[code]?.[at]] ?? groups.at(-1)).append(shape);
  }
  byId('map').textContent = `Map, ${year}`;
  byId('ranking-of-year').ariaBusy = true;
}

function makeTime(form) {
  const { time } = form.dataset;
  const select = form.querySelector('select');
  const all = [...select.options].map(({ value }) => value).reverse();
  const slider = make('input', { type: 'range', id: 'year-slider', max: all.length - 1 });
  slider.ariaLabel = select.ariaLabel;
  const output = make('output', { ariaLive: 'off' });
  const said = make('p', { className: 'unseen', role: 'status' });
  const button = make('button', { type: 'button', className: 'play' });
  let loading;
  let timer;
  const load = async () => {
    if (!time) return;
    loading ??= fetch(time).then((answer) => answer.json());
    const file = await loading.catch(() => {});
    // A newer edition may have other classes.
    if (file?.edition === byId('map-of-year').dataset.edition) return file;
  };
  const show = () => {
    select.value = all[slider.value];
    slider.ariaValueText = output.value = select.value;
  };
  const move = async () => {
    show();
    const file = await load();
    // Its page may be there by now.
    if (file && !byId('map').textContent.includes(select.value)) colour(select.value, file);
  };
  const pause = () => {
    timer = clearInterval(timer);
    button.textContent = 'Play';
  };
  const rest = () => {
    pause();
    form.dispatchEvent(new Event('input'));
  };
  const play = async () => {
    const { years = [] } = (await load()) ?? {};
    if (timer) return;
    button.textContent = 'Pause';
    // Pages open near the end.
    if (years.at(-3) <= select.value) slider.value = 0;
    timer = setInterval(() => {
      const next = years.find((year) => year > all[slider.value]);
      if (!next || !form.isConnected) return rest();
      slider.value = all.indexOf(String(next));
      move();
    }, STEP_MS);
  };
  slider.value = all.indexOf(select.value);
  slider.oninput = () => move(pause());
  button.onclick = () => (timer ? rest() : play());
  document.addEventListener('enhance', () => {
    if (!timer) said.textContent = byId('ranking').textContent;
  });
  pause();
  show();
  select.hidden = true;
  select.after(slider, output);
  form.append(said);
  if (time && !matchMedia('(prefers-reduced-motion)').matches) form.append(button);
}

/** The title of each country is shown as if the pointer were on it. */
function makeMapReadable(figure) {
  const said = make('p', { className: 'unseen', role: 'status' });
  Object.assign(figure, { tabIndex: 0, role: 'group', ariaLabel: 'Map: arrow keys read its countries' });
  figure.append(said);
  let at = -1;
  const point = (mark) => {
    figure.querySelector('.world [aria-current]')?.removeAttribute('aria-current');
    if (mark !== figure) mark.ariaCurrent = true;
    const { x, y, width, height } = mark.getBoundingClientRect();
    const middle = { clientX: x + width / 2, clientY: y + height / 2 };
    mark.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, ...middle }));
  };
  figure.onkeydown = (event) => {
    const marks = [...figure.querySelectorAll('.world g > :has(title):not(.pale)')];
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || marks.length === 0) return;
    event.preventDefault();
    at = at < 0 && step < 0 ? marks.length - 1 : (at + step + marks.length) % marks.length;
    point(marks[at]);
    said.textContent = marks[at].textContent;
  };
  figure.onblur = () => point(figure);
}

function enhance() {
  for (const figure of document.querySelectorAll('figure[data-map]:not([tabindex])')) makeMapReadable(figure);
  for (const form of document.querySelectorAll('form[data-time]:not(:has(output))')) makeTime(form);
}

document.addEventListener('enhance', enhance);
enhance();
