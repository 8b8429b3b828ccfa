/**
 * The script of every page. Pages are complete without it; it saves reloads and clicks. Elements ask for it by attributes:
 *
 *   form[data-live="id id"]   sends itself when a choice changes and puts the named elements of the answer in place
 *   a[data-live="id id"]      does the same where it leads
 *   input[data-suggest]       offers indicators and countries while somebody types; of a kind if it names one, and then
 *                             its form is sent with what is chosen, by Enter or click alone
 *   svg.chart                 shows the title of what the pointer is on
 *   pre                       gets a button that copies it
 *   button[data-link]         copies the address of the page
 *   [data-price]              says beside a price what the signed-in account has
 *   form[data-try]            shows the price of the call of its path, sends it, shows the answer and saves it
 */

const TYPING_MS = 150;
/** A slider is dragged through many values: only where it rests is asked for. */
const DRAGGING_MS = 120;

/** Calls the function once the calls have stopped for a while. */
function settled(wait_ms, run) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...values), wait_ms);
  };
}

/** The newest request of its kind: an older one is cancelled. */
function latestOnly() {
  let running;
  return async (address, headers) => {
    running?.abort();
    running = new AbortController();
    const answer = await fetch(address, { signal: running.signal, headers });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer;
  };
}

function addressOf(form) {
  const fields = [...new FormData(form)].filter(([, value]) => value !== '');
  const query = new URLSearchParams(fields).toString();
  return query === '' ? form.getAttribute('action') : `${form.getAttribute('action')}?${query}`;
}

function makeLive(element) {
  const load = latestOnly();
  const ids = element.dataset.live.split(' ');
  const isLink = element.localName === 'a';
  const update = async () => {
    const address = isLink ? element.href : addressOf(element);
    try {
      const text = await (await load(address)).text();
      const page = new DOMParser().parseFromString(text, 'text/html');
      const focused = document.activeElement?.id;
      for (const id of ids) {
        const fresh = page.getElementById(id);
        const old = document.getElementById(id);
        if (fresh && old) old.replaceWith(document.adoptNode(fresh));
      }
      history.replaceState(null, '', address);
      enhance();
      if (focused) document.getElementById(focused)?.focus();
    } catch (error) {
      if (error.name !== 'AbortError') location.assign(address);
    }
  };
  // Arrows and letters walk through a list: what they pass is chosen by Enter or the button alone.
  let isWalking = false;
  element.addEventListener('pointerdown', () => {
    isWalking = false;
  });
  element.addEventListener('keydown', (event) => {
    isWalking = event.target.localName === 'select';
    if (!isWalking || event.key !== 'Enter') return;
    event.preventDefault();
    update();
  });
  const settle = settled(DRAGGING_MS, update);
  element.addEventListener('input', () => isWalking || element.querySelector('[data-suggest]') || settle());
  element.addEventListener(isLink ? 'click' : 'submit', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    update();
  });
}

function makeSuggesting(input) {
  const load = latestOnly();
  const list = document.createElement('ul');
  list.id = `${input.id}-suggestions`;
  list.className = 'suggestions';
  list.setAttribute('role', 'listbox');
  list.setAttribute('aria-label', 'Suggestions');
  list.hidden = true;
  input.after(list);
  for (const [name, value] of [
    ['role', 'combobox'],
    ['aria-autocomplete', 'list'],
    ['aria-controls', list.id],
    ['aria-expanded', 'false'],
  ])
    input.setAttribute(name, value);
  let chosen = -1;
  const choose = (at) => {
    const options = [...list.children];
    chosen = options.length === 0 ? -1 : (at + options.length) % options.length;
    for (const [index, option] of options.entries())
      option.setAttribute('aria-selected', String(index === chosen));
    const option = options[chosen];
    if (option) input.setAttribute('aria-activedescendant', option.id);
    else input.removeAttribute('aria-activedescendant');
  };
  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    choose(-1 - list.children.length);
    input.removeAttribute('aria-activedescendant');
    chosen = -1;
  };
  const show = (found) => {
    list.replaceChildren(
      ...found.map(({ path, value, name, note }, at) => {
        const option = document.createElement('li');
        option.id = `${list.id}-${at}`;
        option.setAttribute('role', 'option');
        option.dataset[path ? 'path' : 'value'] = path ?? value;
        const remark = document.createElement('span');
        remark.className = 'faint';
        remark.textContent = note;
        option.append(name, ' ', remark);
        return option;
      }),
    );
    chosen = -1;
    list.hidden = found.length === 0;
    input.setAttribute('aria-expanded', String(found.length > 0));
  };
  const commit = ({ dataset: { path, value } }) => {
    if (path) return location.assign(path);
    input.value = value;
    close();
    input.form.requestSubmit();
  };
  const suggest = settled(TYPING_MS, async () => {
    const text = input.value.trim();
    if (text.length < 2) return close();
    try {
      const only = input.dataset.suggest && `&only=${input.dataset.suggest}`;
      show(await (await load(`/suggest?q=${encodeURIComponent(text)}${only}`)).json());
    } catch {
      // The form itself still searches.
    }
  });
  input.addEventListener('input', suggest);
  input.addEventListener('blur', () => setTimeout(close, TYPING_MS));
  input.addEventListener('keydown', (event) => {
    if (list.hidden) return;
    if (event.key === 'ArrowDown') choose(chosen + 1);
    else if (event.key === 'ArrowUp') choose(chosen < 0 ? list.children.length - 1 : chosen - 1);
    else if (event.key === 'Escape') close();
    else if (event.key === 'Enter' && chosen >= 0) commit(list.children[chosen]);
    else return;
    event.preventDefault();
  });
  list.addEventListener('pointerdown', (event) => {
    const option = event.target.closest('[role=option]');
    if (!option) return;
    // The focus stays in the field.
    event.preventDefault();
    commit(option);
  });
}

/** One box that follows the pointer over all charts. */
function showTitles() {
  const box = document.createElement('div');
  box.className = 'tooltip';
  box.ariaHidden = true;
  box.hidden = true;
  document.body.append(box);
  const show = ({ target, clientX, clientY }) => {
    const mark = target.closest?.('svg.chart *');
    const title = mark && [...mark.children].find(({ localName }) => localName === 'title');
    box.hidden = !title;
    if (!title) return;
    box.textContent = title.textContent;
    const left = Math.min(clientX + 14, innerWidth - box.offsetWidth - 8);
    box.style.left = `${Math.max(8, left)}px`;
    box.style.top = `${Math.max(8, clientY - box.offsetHeight - 12)}px`;
  };
  document.addEventListener('pointermove', show);
  document.addEventListener('pointerdown', show);
}

/** Copies the address, which says all that was chosen. */
function makeCopier(button) {
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(location.href);
    button.textContent = 'Copied';
  });
}

function addCopyButton(block) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'copy';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(block.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(block);
      button.textContent = 'Selected';
    }
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  const frame = document.createElement('div');
  frame.className = 'copyable';
  block.before(frame);
  frame.append(block, button);
}

const SIGNED_IN = 'almanac_signed_in=';

/** Says in the header who is signed in, and beside prices what the account has. Pages are the same for everybody without it. */
async function greet() {
  const answer = await fetch('/account/summary', { headers: { accept: 'application/json' } });
  if (!answer.ok) return;
  const { balance, email, key } = await answer.json();
  if (email === undefined) {
    // biome-ignore lint/suspicious/noDocumentCookie: the other way is not in every browser
    document.cookie = `${SIGNED_IN}; Path=/; Max-Age=0`;
    return;
  }
  const enter = document.querySelector('.main-links a[href="/account/"]');
  if (enter) {
    enter.textContent = email;
    enter.title = `Signed in: ${email}`;
    enter.className = 'address';
  }
  for (const link of document.querySelectorAll('a[href="/account/sign-up"]')) {
    link.href = '/account/keys';
    link.textContent = 'Your keys';
  }
  for (const place of document.querySelectorAll('[data-price]')) {
    const price = Number(place.dataset.price);
    const note = document.createElement('p');
    note.className = price > balance ? 'problem' : 'notice';
    const left =
      price > balance ? 'too few for this' : `${(balance - price).toLocaleString('en')} after this`;
    note.textContent = `You have ${credits(balance)}: ${left}.${key ? ` Use your key ${key}.` : ''}`;
    place.after(note);
  }
}

/** @param path with `{name}` where a field of the form belongs */
function callOf(path, form) {
  const query = new URLSearchParams();
  let resource = path;
  for (const [name, value] of new FormData(form)) {
    if (path.includes(`{${name}}`)) resource = resource.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '') query.append(name, value);
  }
  return query.size === 0 ? resource : `${resource}?${query}`;
}

const SHOWN_CHARACTERS = 20_000;

async function textIn(file) {
  if (!/json|xml|bibtex|^text\//.test(file.type))
    return `${file.size.toLocaleString('en')} bytes of ${file.type}`;
  const text = await file.text();
  const whole = /[/+]json\b/.test(file.type) ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return whole.length > SHOWN_CHARACTERS ? `${whole.slice(0, SHOWN_CHARACTERS)}\n…` : whole;
}

const credits = (count) =>
  `${Number(count).toLocaleString('en')} ${Number(count) === 1 ? 'credit' : 'credits'}`;

/**
 * The key is read from its field for each call, and kept nowhere. A call that has a price shows it first, and is sent by a second
 * button, with that price as its limit.
 */
function makeTrial(form) {
  const key = form.querySelector('[data-key]');
  const spend = form.querySelector('[data-spend]');
  const status = form.querySelector('[role=status]');
  const body = document.createElement('pre');
  const save = document.createElement('a');
  let most = 0;
  body.tabIndex = 0;
  body.setAttribute('role', 'region');
  body.setAttribute('aria-label', 'Answer of your call');
  form.hidden = false;
  const address = (more = {}) => {
    const [path, sent] = callOf(form.dataset.try, form).split('?');
    const query = new URLSearchParams(sent);
    for (const [name, value] of Object.entries(more)) query.set(name, value);
    return query.size === 0 ? path : `${path}?${query}`;
  };
  const ask = (path) =>
    fetch(path, { headers: key ? { authorization: `Bearer ${key.value.trim()}` } : {}, cache: 'no-store' });
  const send = async (path) => {
    save.remove();
    try {
      const answer = await ask(path);
      const charged = answer.headers.get('x-credits-charged');
      const file = await answer.blob();
      body.textContent = await textIn(file);
      status.textContent = `GET ${path}: status ${answer.status}${charged === null ? '' : `, ${credits(charged)} charged`}`;
      URL.revokeObjectURL(save.href);
      save.href = URL.createObjectURL(file);
      save.download = fileName(path, answer);
      save.textContent = `Save ${save.download}`;
      if (answer.ok) status.after(save);
    } catch {
      body.textContent = '';
      status.textContent = `GET ${path}: no answer. Try again.`;
    }
    if (body.isConnected) return;
    form.append(body);
    enhance();
  };
  const feed = form.querySelector('[data-feed]');
  const forget = () => {
    if (spend) spend.hidden = true;
    if (feed) feed.href = `/account/feeds?call=${encodeURIComponent(address())}`;
  };
  forget();
  form.addEventListener('input', forget);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    forget();
    if (!spend) return send(address());
    const asked = address();
    const path = address({ dry_run: 'true' });
    const answer = await ask(path).catch(() => null);
    const { price, balance_after } = answer?.ok ? (await answer.json()).data : {};
    // A refusal costs nothing.
    if (price === undefined) return send(path);
    if (address() !== asked) return;
    status.textContent = `This call costs ${credits(price)}; ${balance_after < 0 ? 'you have too few' : `${credits(balance_after)} will be left`}. Nothing is charged yet.`;
    spend.textContent = `Send for ${credits(price)}`;
    spend.hidden = false;
    most = price;
  });
  spend?.addEventListener('click', () => {
    forget();
    send(address({ max_credits: most }));
  });
}

/** As the service names the file, else by the path and the type of the answer. */
function fileName(path, { headers }) {
  const named = /filename="?([^";]+)/.exec(headers.get('content-disposition') ?? '');
  const [type] = (headers.get('content-type') ?? '').split(';');
  const [, ending = 'txt'] = ENDINGS.find(([words]) => type.includes(words)) ?? [];
  return named?.[1] ?? `${path.split('?')[0].split('/').at(-1)}.${ending}`;
}

const ENDINGS = [
  ['ndjson', 'ndjson'],
  ['json', 'json'],
  ['csv', 'csv'],
  ['spreadsheetml', 'xlsx'],
  ['parquet', 'parquet'],
  ['arrow', 'arrow'],
  ['xml', 'xml'],
];

/** Marks what was enhanced, so that it is done once. */
function each(selector, run) {
  for (const element of document.querySelectorAll(`${selector}:not([data-enhanced])`)) {
    element.dataset.enhanced = '';
    run(element);
  }
}

function enhance() {
  each('[data-live]', makeLive);
  each('input[data-suggest]', makeSuggesting);
  each('form[data-try]', makeTrial);
  each('pre', addCopyButton);
  each('button[data-link]', makeCopier);
  document.dispatchEvent(new Event('enhance'));
}

enhance();
showTitles();
if (document.cookie.includes(SIGNED_IN)) greet().catch(() => {});
