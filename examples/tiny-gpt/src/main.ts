/**
 * @file `pnpm example:tiny-gpt`: trains a character-level GPT on a text and lets it write.
 */
import { compile, explain } from '@tessera/compile';
import { explainTree } from '@tessera/compile/exploration';
import { manualSeed } from '@tessera/tensor';
import { resume, save } from './checkpoint.js';
import { huggingFaceFolder } from './export.js';
import { readText, writeFolder } from './files.js';
import { GPT, generate } from './model.js';
import { USAGE, readOptions } from './options.js';
import { Progress } from './progress.js';
import { getBatch } from './text.js';
import { configure, evaluate, trainingStep } from './train.js';

const options = readOptions(process.argv.slice(2));
if (options === null) {
  console.log(USAGE);
  process.exit(0);
}

manualSeed(1337);
const text = readText(options.text);
const model = new GPT({
  vocabSize: text.chars.length,
  blockSize: 64,
  layers: 4,
  heads: 4,
  width: 128,
  dropout: 0.1,
});
const config = {
  batchSize: 16,
  maxSteps: 1000,
  warmupSteps: 50,
  lr: 1e-3,
  minLr: 1e-4,
  weightDecay: 0.1,
  gradClip: 1,
};
const training = configure(model, config);
const { scheduler } = training;
const eagerStep = trainingStep(training, config);
const step = options.compile ? compile(eagerStep, { fullgraph: true }) : eagerStep;

const first = options.resume === null ? 0 : await resume(options.resume, training);
console.log(
  `${text.chars.length} characters, ${model.parameters().reduce((n, p) => n + p.numel, 0)} parameters, ` +
    `${options.compile ? 'compiled' : 'eager'}${first > 0 ? `, resumed at step ${first}` : ''}`,
);

const progress = new Progress(options.steps);
let since = performance.now();
let counted = 0;
for (let i = first; i < options.steps; i++) {
  const [x, y] = getBatch(text.train, config.batchSize, model.config.blockSize);
  const loss = step(x, y);
  scheduler.step();
  counted++;
  if (i === first || (i + 1) % 10 === 0) {
    progress.report({
      step: i + 1,
      loss: loss.item(),
      lr: scheduler.getLastLr()[0]!,
      msPerStep: (performance.now() - since) / counted,
    });
    since = performance.now();
    counted = 0;
  }
}
progress.finish();
if (options.save !== null) await save(options.save, training, options.steps);
if (options.export !== null) writeFolder(options.export, huggingFaceFolder(model, text));
if (options.explain) {
  const [x, y] = getBatch(text.train, config.batchSize, model.config.blockSize);
  console.log(`\n${explainTree(explain(step)(x, y))}`);
}

console.log(`\nvalidation loss ${evaluate(model, text, config.batchSize).toFixed(4)}\n`);
model.eval();
const written = generate(model, text.encode('\n').view([1, 1]), options.characters, 0.8);
console.log(text.decode((written.toArray() as number[][])[0]!));
