/* Starts Swagger UI with plugins of our own: words instead of padlocks, and a key that is kept for the tab. */
/* global SwaggerUIBundle */

const STORED_KEY = 'almanac-key';

/** A key survives a reload of the page and ends with its tab. */
const keyKeptForTab = () => ({
  statePlugins: {
    auth: {
      wrapActions: {
        authorize: (original) => (credentials) => {
          sessionStorage.setItem(STORED_KEY, JSON.stringify(credentials));
          return original(credentials);
        },
        logout: (original) => (names) => {
          sessionStorage.removeItem(STORED_KEY);
          return original(names);
        },
      },
    },
  },
});

/** The library draws an open padlock on what is closed. */
const keyStates = ({ React }) => {
  const button = (isSet, text, onClick) =>
    React.createElement(
      'button',
      { type: 'button', className: isSet ? 'key key-set' : 'key', onClick },
      text,
    );
  return {
    wrapComponents: {
      authorizeBtn:
        () =>
        ({ isAuthorized, showPopup, onClick, getComponent }) =>
          React.createElement(
            'div',
            { className: 'auth-wrapper' },
            button(isAuthorized, isAuthorized ? 'Key set: change or remove it' : 'Enter your key', onClick),
            showPopup && React.createElement(getComponent('authorizationPopup', true)),
          ),
      authorizeOperationBtn:
        () =>
        ({ isAuthorized, onClick }) =>
          button(isAuthorized, isAuthorized ? 'Key set' : 'Key needed', (event) => {
            event.stopPropagation();
            onClick?.();
          }),
    },
  };
};

/** Names, levels and focus that the library's elements lack, by selector. */
const AMENDMENTS = [
  ['.information-container', 'role', () => 'region'],
  ['.information-container', 'aria-label', () => 'About the API'],
  ['.dialog-ux', 'role', () => 'dialog'],
  ['.dialog-ux', 'aria-label', () => 'Your key'],
  ['h3.opblock-tag, .modal-ux-header h3', 'aria-level', () => '2'],
  ['.opblock h4, .modal-ux-content h4', 'aria-level', () => '3'],
  ['.opblock h5', 'aria-level', () => '4'],
  ['.close-modal', 'aria-label', () => 'Dismiss'],
  ['.modal-ux .auth-btn-wrapper .authorize', 'aria-label', (button) => button.textContent],
  ['.examples-select-element', 'aria-label', () => 'Example'],
  ['.parameters select', 'aria-label', (select) => select.closest('tr')?.dataset.paramName ?? 'Value'],
  ['.microlight, .curl', 'tabindex', () => '0'],
];

function amend() {
  for (const [selector, attribute, value] of AMENDMENTS)
    for (const element of document.querySelectorAll(selector))
      element.setAttribute(attribute, value(element));
}

const docs = document.querySelector('#docs');
new MutationObserver(amend).observe(docs, { childList: true, subtree: true });

const ui = SwaggerUIBundle({
  url: '/docs/openapi.json',
  domNode: docs,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [keyKeptForTab, keyStates],
  layout: 'BaseLayout',
  docExpansion: 'list',
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  supportedSubmitMethods: ['get'],
  syntaxHighlight: { activated: false },
  validatorUrl: null,
  onComplete: () => {
    const stored = sessionStorage.getItem(STORED_KEY);
    if (stored !== null) ui.authActions.authorize(JSON.parse(stored));
  },
});
