/**
 * @file The script of the page that shows a debug folder: a menu of its compilations, their lines, and the views of the
 * explorer. What it shows comes checked from the server of `@tessera/cli`.
 */
import type { Exploration } from '@tessera/compile/exploration';
import { Editor } from '../explorer/editor.js';
import { h } from '../explorer/elements.js';
import { Selection } from '../explorer/selection.js';
import { StageTabs } from '../explorer/stage-tabs.js';
import { isTrace, summaryOf } from '../explorer/summary.js';

const byId = (id: string): HTMLElement => document.getElementById(id)!;
const [state, menu] = [byId('state'), byId('compilations') as HTMLSelectElement];
const selection = new Selection();
const tabs = new StageTabs(byId('tabs'), byId('view'), selection);
const editor = new Editor(byId('editor'), '', (line) => selection.select([line]), null);
selection.watch((lines) => editor.mark(lines));

/** What the server has under this name. Its refusals are sentences. */
async function get<T>(path: string): Promise<T> {
  const response = await fetch(path);
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
}

async function show(index: number): Promise<void> {
  state.textContent = 'Loading…';
  try {
    const exploration = await get<Exploration>(`compilations/${index}.json`);
    if (Number(menu.value) !== index) return;
    editor.source = exploration.program;
    selection.select([]);
    tabs.show(exploration);
    if (isTrace(exploration)) tabs.open('Timeline');
    state.textContent = summaryOf(exploration);
  } catch (error) {
    state.textContent = error instanceof Error ? error.message : String(error);
  }
}

const { folder, compilations } = await get<{ folder: string; compilations: string[] }>(
  'folder.json',
);
document.title = `${folder} · Tessera`;
menu.append(...compilations.map((name, i) => h('option', { value: i }, name)));
menu.addEventListener('change', () => void show(Number(menu.value)));
void show(0);
