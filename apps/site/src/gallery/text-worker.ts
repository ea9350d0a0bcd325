/** @file The worker of the page of texts. */
import { serve } from './remote.js';
import { Writer } from './text-model.js';

let writer: Writer | undefined;

serve({
  learn: (tell, text: string, steps: number) => (writer ??= new Writer()).learn(text, steps, tell),
  write: (tell, start: string, count: number) =>
    (writer ??= new Writer()).write(start, count, tell),
});
