/**
 * @file The program on tiny models: a folder with a chat template, and a tokenizer from a GGUF header.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { manualSeed } from '@tessera/tensor';
import {
  CausalLM,
  TextGenerator,
  makeCausalLM,
  readConfig,
  saveCausalLM,
} from '@tessera/transformers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Chat } from '../src/chat.js';
import { folderVocabulary } from '../src/folder-vocabulary.js';
import { ggufVocabulary } from '../src/gguf-vocabulary.js';
import { readCommand } from '../src/options.js';
import { Vocabulary } from '../src/vocabulary.js';
import { CONFIG, METADATA, TOKENS } from './support/tiny-chat.js';

const folder = mkdtempSync(join(tmpdir(), 'tessera-chat-'));
const program = join(folder, 'chat.mjs');
let model: CausalLM;

beforeAll(async () => {
  manualSeed(3);
  model = new CausalLM(readConfig(CONFIG)).eval();
  await saveCausalLM(model, folder, CONFIG);
  const { tokenizer, config } = ggufVocabulary(METADATA);
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  writeFileSync(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  await build({
    entryPoints: [fileURLToPath(new URL('../src/main.ts', import.meta.url))],
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['@tessera/source'],
    external: ['webgpu'],
    outfile: program,
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(
  args: readonly string[],
  input = '',
): Promise<{ code: number; out: string; err: string }> {
  const child = spawn(process.execPath, [program, ...args]);
  const [out, err]: [string[], string[]] = [[], []];
  child.stdout.on('data', (data: Buffer) => out.push(String(data)));
  child.stderr.on('data', (data: Buffer) => err.push(String(data)));
  child.stdin.end(input);
  return new Promise((done) =>
    child.on('close', (code) => done({ code: code!, out: out.join(''), err: err.join('') })),
  );
}

function chatOf(of: CausalLM, options: { maxNewTokens: number }): Chat {
  const generator = new TextGenerator(of, { maxLength: 128, compile: false });
  return new Chat(generator, new Vocabulary(ggufVocabulary(METADATA)), options);
}

async function textsOf(chat: Chat, messages: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  for (const message of messages) {
    const pieces: string[] = [];
    for await (const piece of chat.answer(message)) pieces.push(piece);
    answers.push(pieces.join(''));
  }
  return answers;
}

describe('pnpm chat', () => {
  it('answers each line, knowing those before', { timeout: 180_000 }, async () => {
    const args = [folder, '--temperature', '0', '--max-tokens', '6', '--system', 'be kind'];
    const { code, out, err } = await run(args, 'hello there\nwhat\n\nnot read\n');
    expect(err).toBe('');
    expect(code).toBe(0);
    const chat = new Chat(
      new TextGenerator(model, { maxLength: 128, compile: false }),
      new Vocabulary(await folderVocabulary(folder)),
      { temperature: 0, maxNewTokens: 6 },
      'be kind',
    );
    expect(out).toBe(`${(await textsOf(chat, ['hello there', 'what'])).join('\n')}\n`);
  });

  it(
    'runs with rounded weights, and draws the same with the same seed',
    { timeout: 180_000 },
    async () => {
      const args = [folder, '--seed', '5', '--max-tokens', '8', '--quantize', '4'];
      const [one, again] = await Promise.all([run(args, 'hello\n'), run(args, 'hello\n')]);
      expect(one.err).toBe('');
      expect(one.out.length).toBeGreaterThan(1);
      expect(again.out).toBe(one.out);
    },
  );

  it('gives the same answers with a draft', { timeout: 180_000 }, async () => {
    const draft = mkdtempSync(join(tmpdir(), 'tessera-draft-'));
    manualSeed(4);
    const smaller = { ...CONFIG, hidden_size: 16, num_attention_heads: 1 };
    await saveCausalLM(new CausalLM(readConfig(smaller)).eval(), draft, smaller);
    const args = [folder, '--temperature', '0', '--max-tokens', '12'];
    const alone = await run(args, 'hello there\nwhat\n');
    const drafted = await run([...args, '--draft', draft], 'hello there\nwhat\n');
    rmSync(draft, { recursive: true });
    expect(drafted.err).toBe('');
    expect(drafted.out).toBe(alone.out);
  });

  it('ends at the texts that generation_config.json names', async () => {
    const state = model.stateDict();
    const [whole] = await textsOf(chatOf(model, { maxNewTokens: 12 }), ['hello']);
    const stop = whole!.slice(2, 4);
    const asking = makeCausalLM(state, CONFIG, { stop_strings: stop });
    const [short] = await textsOf(chatOf(asking, { maxNewTokens: 12 }), ['hello']);
    expect(short!.length).toBeLessThan(whole!.length);
    expect(whole!.startsWith(short!)).toBe(true);
    expect(short).toContain(stop);
  });

  it('says when the draft has other tokens', { timeout: 180_000 }, async () => {
    const other = mkdtempSync(join(tmpdir(), 'tessera-draft-'));
    const config = { ...CONFIG, vocab_size: TOKENS.length + 1 };
    await saveCausalLM(new CausalLM(readConfig(config)).eval(), other, config);
    const { code, err } = await run([folder, '--draft', other], 'hello\n');
    rmSync(other, { recursive: true });
    expect(code).toBe(2);
    expect(err).toContain('tokens, which cannot be the same');
  });

  it.each([
    [[], 'Give the folder'],
    [['model', '--quantize', '3'], '--quantize must be 4 or 8'],
    [['model', '--seed', 'x'], '--seed must be a number'],
    [['model', '--device', 'tpu'], '--device must be cpu or wgpu'],
    [['model', '--colour'], '--colour'],
  ])('refuses %j', (args, message) => {
    expect(() => readCommand(args)).toThrow(message);
  });

  it('says what is wrong in a line', { timeout: 180_000 }, async () => {
    const { code, err } = await run([join(folder, 'nothing')]);
    expect(code).toBe(2);
    expect(err).toMatch(/^There is no tokenizer.json in .*nothing/);
  });
});

describe('the vocabulary of a GGUF file', () => {
  it('has the template, special tokens and merges of the file', () => {
    const vocabulary = new Vocabulary(ggufVocabulary(METADATA));
    const ids = vocabulary.prompt([{ role: 'user', content: 'hello there' }]);
    expect(ids.map((id) => TOKENS[id]).join('|')).toBe(
      'u|s|e|r|:|\u0120|he|l|l|o|\u0120|t|he|r|e|<end>|a|s|s|i|s|t|a|n|t|:',
    );
    expect(vocabulary.text(ids)).toBe('user: hello thereassistant:');
  });

  it('refuses tokenizers that it does not know: model-unsupported', () => {
    const other = new Map([...METADATA, ['tokenizer.ggml.pre', 'other' as never]]);
    expect(() => ggufVocabulary(other)).toThrow(
      expect.objectContaining({ code: 'model-unsupported' }),
    );
  });

  it('leaves out the oldest messages of a chat that is too long', async () => {
    const chat = new Chat(
      new TextGenerator(model, { maxLength: 64, chunk: 16, compile: false }),
      new Vocabulary(ggufVocabulary(METADATA)),
      { temperature: 0, maxNewTokens: 4 },
    );
    expect(await textsOf(chat, ['hello there', 'what is it', 'and then'])).toHaveLength(3);
    await expect(textsOf(chat, ['a'.repeat(90)])).rejects.toThrow('there is room for 63');
  });
});
