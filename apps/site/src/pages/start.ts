/**
 * @file The script of the start page: loads the demo when it is asked for.
 */
const element = (id: string): HTMLElement => document.getElementById(id)!;

const trainButton = element('train') as HTMLButtonElement;

trainButton.addEventListener('click', async () => {
  const clicked = performance.now();
  trainButton.disabled = true;
  const state = element('train-state');
  try {
    const { runDemo } = await import('../demo/run-demo.js');
    const elements = {
      state,
      figures: element('train-figures'),
      chart: element('train-chart'),
      digits: element('train-digits'),
    };
    await runDemo(elements, new URL('assets/digits.bin', document.baseURI).href, clicked);
  } catch (error) {
    state.textContent = String(error);
  }
  trainButton.textContent = 'Train again';
  trainButton.disabled = false;
});
