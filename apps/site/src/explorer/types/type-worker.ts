/**
 * @file The worker that knows types. Its name ends in the address of the declarations; the first answer waits for them.
 */
import { ProgramTypes } from './program-types.js';
import type { TypeQuestion, TypeResponse } from './type-messages.js';

async function load(): Promise<ProgramTypes> {
  const response = await fetch(self.name);
  if (!response.ok) throw new Error(`${self.name}: ${response.status}`);
  return new ProgramTypes((await response.json()) as Record<string, string>);
}

const loading = load();
// Each question is told.
loading.catch(() => {});
let last = '';

self.addEventListener('message', async ({ data }: MessageEvent<TypeQuestion>) => {
  const { id, kind, source, position } = data;
  const reply = (response: Omit<TypeResponse, 'id'>): void => self.postMessage({ id, ...response });
  try {
    const types = await loading;
    if (source !== last) types.update(source);
    last = source;
    reply({ answer: types.answer(kind, position) });
  } catch (error) {
    reply({ failure: String(error) });
  }
});
