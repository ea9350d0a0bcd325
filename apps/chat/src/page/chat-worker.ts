/**
 * @file The worker of the page: it holds the model, and answers piece by piece until it is told to stop.
 */
import type { Chat } from '../chat.js';
import type { AnswerSettings, LoadRequest, Reply, Request } from './messages.js';
import { openPageChat } from './open-page-chat.js';

let chat: Chat | null = null;
let stopped = false;

const tell = (reply: Reply): void => postMessage(reply);

/** Lets messages of the page in; the tokens of a model on the processor are made without a pause. */
function nextTurn(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
}

async function load(request: LoadRequest): Promise<void> {
  chat = null;
  const opened = await openPageChat(request, ({ file, loaded, total }) =>
    tell({ kind: 'progress', file, loaded, total: total ?? null }),
  );
  chat = opened.chat;
  const { model } = opened;
  const parameters = [...model.parameters()].reduce((sum, { numel }) => sum + numel, 0);
  tell({ kind: 'ready', layers: model.config.layers, parameters });
}

async function answer(content: string, settings: AnswerSettings): Promise<void> {
  stopped = false;
  for await (const text of chat!.answer(content, settings)) {
    tell({ kind: 'piece', text });
    await nextTurn();
    if (stopped) break;
  }
  tell({ kind: 'answered', stopped });
}

addEventListener('message', ({ data }: MessageEvent<Request>) => {
  if (data.kind === 'stop') {
    stopped = true;
    return;
  }
  const work = data.kind === 'load' ? load(data.request) : answer(data.content, data.settings);
  work.catch((error: unknown) =>
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
});
