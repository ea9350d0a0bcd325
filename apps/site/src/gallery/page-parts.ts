/**
 * @file What the scripts of the gallery's pages share.
 */

/** An element of the page. */
export function part<E extends HTMLElement = HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

/** An address from the root of the site. */
export function asset(path: string): string {
  return new URL(`../assets/${path}`, document.baseURI).href;
}

/** Runs `work` when a button is pressed, one piece of work at a time; an error is shown instead of a state. */
export function onPress(button: string, work: () => Promise<void>): void {
  part(button).addEventListener('click', () => void alone(work));
}

let busy = false;

/** Runs `work` unless some is under way; buttons rest meanwhile. */
export async function alone(work: () => Promise<void>): Promise<void> {
  if (busy) return;
  busy = true;
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('main button')];
  const resting = buttons.map(({ disabled }) => disabled);
  for (const button of buttons) button.disabled = true;
  try {
    await work();
  } catch (error) {
    part('state').textContent = String(error);
  }
  buttons.forEach((button, i) => (button.disabled = resting[i]!));
  busy = false;
}

/** Lets buttons be pressed from now on. */
export function enable(selector: string): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>(selector))
    button.disabled = false;
}
