/**
 * @file The script of every page: the button that switches between the system's theme, light and dark.
 */

const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const SIGNS: Readonly<Record<Theme, string>> = { system: '◐', light: '☀', dark: '☾' };

/** Where what the visitor chose is kept, if the browser lets pages keep anything. */
function storage(): Storage | null {
  try {
    return globalThis.localStorage;
  } catch {
    return null;
  }
}

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return THEMES.find((theme) => theme === chosen) ?? 'system';
}

function apply(theme: Theme, button: HTMLButtonElement): void {
  const { dataset } = document.documentElement;
  if (theme === 'system') {
    delete dataset.theme;
    storage()?.removeItem('theme');
  } else {
    dataset.theme = theme;
    storage()?.setItem('theme', theme);
  }
  describe(theme, button);
  document.dispatchEvent(new Event('themechange'));
}

function describe(theme: Theme, button: HTMLButtonElement): void {
  button.textContent = SIGNS[theme];
  button.setAttribute('aria-label', `Theme: ${theme === 'system' ? 'as the system' : theme}`);
}

const themeButton: HTMLButtonElement = document.querySelector<HTMLButtonElement>('#theme')!;
describe(currentTheme(), themeButton);
themeButton.addEventListener('click', () => {
  const next = THEMES[(THEMES.indexOf(currentTheme()) + 1) % THEMES.length]!;
  apply(next, themeButton);
});
