/**
 * @file The script of the start page: loads the demo when it is asked for.
 */
const byId = (id: string): HTMLElement => document.getElementById(id)!;

const button = byId('train') as HTMLButtonElement;

button.addEventListener('click', async () => {
  const clicked = performance.now();
  button.disabled = true;
  const state = byId('train-state');
  try {
    const { runDemo } = await import('../demo/run-demo.js');
    const elements = {
      state,
      figures: byId('train-figures'),
      chart: byId('train-chart'),
      digits: byId('train-digits'),
    };
    await runDemo(elements, new URL('assets/digits.bin', document.baseURI).href, clicked);
  } catch (error) {
    state.textContent = String(error);
  }
  button.textContent = 'Train again';
  button.disabled = false;
});

export {};
