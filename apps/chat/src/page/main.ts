/**
 * @file The page: it gives what was chosen and written to the worker, and shows what the worker tells.
 */
import type { DeviceType } from '@tessera/tensor';
import type { AnswerSettings, ModelSource, Reply, Request } from './messages.js';

function at<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const state = at('state');
const progress = at<HTMLProgressElement>('progress');
const log = at('log');
const message = at<HTMLTextAreaElement>('message');
const send = at<HTMLButtonElement>('send');
const stop = at<HTMLButtonElement>('stop');
const loading = at<HTMLFieldSetElement>('loading');
const worker = new Worker(new URL('./chat-worker.ts', import.meta.url), { type: 'module' });

/** Where the answer that is being made is shown. */
let answer: Text | null = null;
let ready = false;

const ask = (request: Request): void => worker.postMessage(request);
const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** What can be used while the worker is at work, and when it is done. */
function show(text: string, work: 'loading' | 'answering' | 'none'): void {
  state.textContent = text;
  progress.hidden = work !== 'loading';
  loading.disabled = work !== 'none';
  message.disabled = send.disabled = work !== 'none' || !ready;
  stop.disabled = work !== 'answering';
  log.ariaBusy = String(work === 'answering');
}

function load(source: ModelSource): void {
  const bits = Number(at<HTMLSelectElement>('quantize').value);
  ready = false;
  log.replaceChildren();
  progress.removeAttribute('value');
  show('Loading…', 'loading');
  const device = at<HTMLSelectElement>('device').value as DeviceType;
  ask({
    kind: 'load',
    request: { source, quantize: bits === 4 || bits === 8 ? bits : null, device },
  });
}

function said(who: 'user' | 'model', content: string): Text {
  const name = document.createElement('span');
  name.className = 'who';
  name.textContent = who === 'user' ? 'You' : 'Model';
  const text = document.createTextNode(content);
  const entry = document.createElement('p');
  entry.className = who;
  entry.append(name, text);
  log.append(entry);
  log.scrollTop = log.scrollHeight;
  return text;
}

function settings(): AnswerSettings | null {
  const number = (id: string): number => at<HTMLInputElement>(id).valueAsNumber;
  for (const id of ['temperature', 'top-p', 'max-tokens', 'seed']) {
    const input = at<HTMLInputElement>(id);
    if (input.checkValidity() && (id === 'seed' || input.value !== '')) continue;
    // A field in a closed part of the page cannot show what is wrong with it.
    input.closest('details')!.open = true;
    input.focus();
    state.textContent = `${input.labels![0]!.textContent}: ${input.validationMessage || 'give a number.'}`;
    return null;
  }
  const seed = number('seed');
  return {
    temperature: number('temperature'),
    topP: number('top-p'),
    maxNewTokens: number('max-tokens'),
    ...(!Number.isNaN(seed) && { seed }),
  };
}

function hear(reply: Reply): void {
  if (reply.kind === 'progress') {
    const { file, loaded, total } = reply;
    if (total !== null) progress.value = loaded / total;
    const all = total === null ? '' : ` of ${megabytes(total)}`;
    state.textContent = `Loading ${file}: ${megabytes(loaded)}${all} MB`;
  } else if (reply.kind === 'ready') {
    ready = true;
    const { layers, parameters } = reply;
    show(`Ready: ${layers} layers, ${parameters.toLocaleString('en')} parameters.`, 'none');
    message.focus();
  } else if (reply.kind === 'piece') {
    answer?.appendData(reply.text);
    log.scrollTop = log.scrollHeight;
  } else {
    show(
      reply.kind === 'failed' ? reply.message : reply.stopped ? 'Stopped.' : 'Answered.',
      'none',
    );
    if (ready) message.focus();
  }
}

worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => hear(data));
worker.addEventListener('error', ({ message: text }) => hear({ kind: 'failed', message: text }));

at('source').addEventListener('submit', (event) => {
  event.preventDefault();
  const { value } = at<HTMLInputElement>('url');
  if (!URL.canParse(value, document.baseURI)) state.textContent = `'${value}' is no address.`;
  else load({ kind: 'address', address: new URL(value, document.baseURI).href });
});
at<HTMLInputElement>('folder').addEventListener('change', ({ currentTarget }) => {
  const files = [...((currentTarget as HTMLInputElement).files ?? [])];
  if (files.length > 0) load({ kind: 'folder', files });
});
at<HTMLInputElement>('gguf').addEventListener('change', ({ currentTarget }) => {
  const file = (currentTarget as HTMLInputElement).files?.[0];
  if (file !== undefined) load({ kind: 'gguf', file });
});
at('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  const content = message.value.trim();
  const chosen = settings();
  if (content === '' || chosen === null) return;
  message.value = '';
  said('user', content);
  answer = said('model', '');
  show('Answering…', 'answering');
  ask({ kind: 'answer', content, settings: chosen });
});
// Enter sends; with Shift it is a line.
message.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at<HTMLFormElement>('ask').requestSubmit();
});
stop.addEventListener('click', () => ask({ kind: 'stop' }));
