/**
 * @file A training loop that differs as a TypeScript file of its own, which runs it and prints what differs.
 */
import { printComparison } from '../print-comparison.js';
import type { TrainingMismatch } from './check.js';
import { linesOf } from './code.js';
import { preludeFor } from './prelude.js';

const IMPORTS = [
  "import { compile, config, initWebGpu } from '@tessera/compile';",
  "import * as nn from '@tessera/nn';",
  "import * as F from '@tessera/nn/functional';",
  "import * as T from '@tessera/tensor';",
  '',
  'const { optim, lrScheduler: schedules, parametrize: P } = nn;',
  'const { swaUtils: swa } = optim;',
  'class Stop extends Error {}',
];

const LOOK = [
  '// What can be seen of a value.',
  'async function text(value) {',
  "  if (value == null || typeof value === 'function') return String(value);",
  '  if (value instanceof T.Tensor) {',
  '    try {',
  '      const numbers = Array.from(await value.toTypedArray(), (v) => Number(v).toPrecision(4)).join(" ");',
  '      const grad = value.isLeaf ? await text(value.grad) : "of no leaf";',
  '      return `${value.dtype} [${value.shape}] requiresGrad ${value.requiresGrad}: ${numbers}, grad ${grad}`;',
  '    } catch (error) {',
  "      return error.message.split('\\n')[0];",
  '    }',
  '  }',
  '  if (value instanceof nn.Module)',
  '    return text({ ...Object.fromEntries(value.namedParameters()), ...Object.fromEntries(value.namedBuffers()), modes: value.modules().map((m) => m.training) });',
  '  if (value instanceof optim.Optimizer)',
  '    return text({ ...value.stateDict(), parameters: value.paramGroups.map((group) => group.params) });',
  "  if (typeof value.stateDict === 'function') return text(value.stateDict());",
  "  if (typeof value === 'number' && !Number.isInteger(value)) return value.toPrecision(4);",
  "  if (typeof value !== 'object') return String(value);",
  '  const lines = [];',
  '  for (const [key, item] of Object.entries(value)) lines.push(`${key}: ${await text(item)}`);',
  "  return `{ ${lines.join('\\n')} }`;",
  '}',
];

/** The file's text. */
export function printTraining({ program, backend, text }: TrainingMismatch): string {
  const setup = linesOf(program.setup);
  const calls = program.calls.flatMap((code, i) => [
    `await turn(async () => { // call ${i}`,
    ...linesOf(code, '  '),
    '});',
  ]);
  const inner = [
    `const device = '${program.device}';`,
    'const seen = [];',
    'const watched = [];',
    'let outputs = [];',
    'const see = (name, value) => void watched.push([name, value]);',
    'const ended = [];',
    'const later = (name, value) => void ended.push([name, value]);',
    'const show = (value) => void outputs.push(value);',
    'const look = async (list) => {',
    '  for (const [name, value] of list) seen.push(`${name}: ${await text(value())}`);',
    '};',
    'const turn = async (fn) => {',
    '  outputs = [];',
    '  try {',
    '    await fn();',
    '  } catch (error) {',
    "    seen.push(`thrown ${error.message.split('\\n')[0]}`);",
    '  }',
    '  await look(watched);',
    '  seen.push(`outputs: ${await text(outputs)}`, JSON.stringify(T.getRngState()));',
    '};',
    ...preludeFor([...setup, ...calls].join('\n')),
    '// ---- the program',
    ...setup,
    ...calls,
    '// ----',
    'await look(ended);',
    'return seen;',
  ];
  return [
    '// @ts-nocheck',
    `// Found by \`pnpm fuzz --with training --seed ${program.seed} --n 1 --backends ${backend}\`:`,
    ...text.split('\n').map((line) => `// ${line}`),
    ...IMPORTS,
    ...LOOK,
    '',
    '/** Runs the calls; what can be seen after each. */',
    'async function play(wrap) {',
    ...inner.map((line) => `  ${line}`),
    '}',
    ...printComparison({
      backend,
      dynamic: program.dynamic,
      usesGpu: program.device === 'wgpu',
      alone: '(fn) => (fn instanceof nn.Module ? (x) => fn.call(x) : fn)',
    }),
  ].join('\n');
}
