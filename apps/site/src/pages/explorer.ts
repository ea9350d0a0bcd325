/**
 * @file The script of the explorer: editor, examples, worker and views together.
 */
import type { CompileRequest, CompileResponse } from '../explorer/compile-worker.js';
import { Editor } from '../explorer/editor.js';
import { h } from '../explorer/elements.js';
import { EXAMPLES } from '../explorer/examples.js';
import { Selection } from '../explorer/selection.js';
import { fromFragment, toFragment } from '../explorer/share.js';
import { StageTabs } from '../explorer/stage-tabs.js';
import { summaryOf } from '../explorer/summary.js';

/** A program that takes longer than this is stopped, in milliseconds. */
const LIMIT = 60_000;
/** The entry of the menu for a program that is none of the examples. */
const OWN = -1;

const byId = (id: string): HTMLElement => document.getElementById(id)!;
const [state, examples] = [byId('state'), byId('examples') as HTMLSelectElement];
const selection = new Selection();
const tabs = new StageTabs(byId('tabs'), byId('view'), selection);
const source = (await fromFragment(location.hash)) ?? EXAMPLES[0]!.source;
const editor = new Editor(
  byId('editor'),
  source,
  (line) => selection.select([line]),
  () => void run(),
);
selection.watch((lines) => editor.mark(lines));

let worker: Worker | null = null;
let asked = 0;
/** Begun when the first result is there. */
let types: Promise<void> | null = null;

function startWorker(): Worker {
  return new Worker(new URL('../explorer/compile-worker.ts', import.meta.url), { type: 'module' });
}

/** What the worker makes of a program. One that does not end is stopped with its worker. */
function compileInWorker(program: string): Promise<CompileResponse> {
  worker ??= startWorker();
  const id = ++asked;
  const current = worker;
  return new Promise((resolve) => {
    const finish = (response: CompileResponse): void => {
      clearTimeout(timer);
      current.removeEventListener('message', listen);
      resolve(response);
    };
    const stop = (failure: string): void => {
      current.terminate();
      if (worker === current) worker = null;
      finish({ id, exploration: null, failure });
    };
    const listen = ({ data }: MessageEvent<CompileResponse>): void => {
      if (data.id === id) finish(data);
    };
    const timer = setTimeout(() => stop(`Stopped after ${LIMIT / 1000} seconds.`), LIMIT);
    current.addEventListener('message', listen);
    current.addEventListener('error', (event) => stop(event.message || 'The worker failed.'), {
      once: true,
    });
    current.postMessage({ id, source: program } satisfies CompileRequest);
  });
}

async function run(): Promise<void> {
  state.textContent = 'Compiling…';
  const { id, exploration, failure } = await compileInWorker(editor.source);
  if (id !== asked) return;
  state.textContent = exploration === null ? failure : summaryOf(exploration);
  if (exploration !== null) tabs.show(exploration);
  types ??= learnTypes();
}

examples.append(
  ...EXAMPLES.map(({ name }, i) => h('option', { value: i }, name)),
  h('option', { value: OWN, hidden: '' }, 'Your program'),
);
examples.value = String(EXAMPLES.findIndex((example) => example.source === source));
examples.addEventListener('change', () => {
  editor.source = EXAMPLES[Number(examples.value)]!.source;
  void run();
});
byId('run').addEventListener('click', () => void run());
byId('share').addEventListener('click', async () => {
  const fragment = await toFragment(editor.source);
  history.replaceState(null, '', fragment);
  try {
    await navigator.clipboard.writeText(location.href);
    state.textContent = 'The link is on the clipboard.';
  } catch {
    state.textContent = 'The link is in the address bar.';
  }
});

/** Types are large, and the first result does not wait for them. */
async function learnTypes(): Promise<void> {
  const [{ TypeClient }, { typeExtensions }] = await Promise.all([
    import('../explorer/types/type-client.js'),
    import('../explorer/types/type-extensions.js'),
  ]);
  const client = new TypeClient(new URL('assets/types.json', document.baseURI), (why) => {
    const text = `The editor does not know types: ${why}`;
    state.after(h('p', { id: 'types-state', role: 'status' }, text));
  });
  editor.extend(typeExtensions(client));
}

void run();
