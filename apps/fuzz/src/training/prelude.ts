/**
 * @file What training programs are written with, as the text that runs and is printed: modules of a user's own, batches
 * without random numbers, and small functions.
 */

/** Names that the text uses and that whoever runs it gives. */
export const GIVEN = ['T', 'nn', 'F', 'optim', 'schedules', 'swa', 'P', 'Stop'] as const;

/** See the file header. `device` and `wrap` are in scope too. */
const LINES: readonly string[] = [
  'class Wave extends T.Function {',
  '  static forward(ctx, t) {',
  '    ctx.saveForBackward(t);',
  '    return t.sin();',
  '  }',
  '  static backward(ctx, slope) {',
  '    return slope.mul(ctx.savedTensors[0].cos()).mul(2);',
  '  }',
  '}',
  'class Wavy extends nn.Module {',
  '  forward(x) {',
  '    return Wave.apply(x);',
  '  }',
  '}',
  '// A residual block, checkpointed or not, with a scale that is learned.',
  'class Residual extends nn.Module {',
  '  constructor(inner, checkpointed = false) {',
  '    super();',
  '    this.inner = inner;',
  '    this.checkpointed = checkpointed;',
  '    this.scale = new nn.Parameter(T.tensor(0.5));',
  '  }',
  '  forward(x) {',
  '    const run = (t) => this.inner.call(t);',
  '    const y = this.checkpointed ? T.checkpoint(run, x) : run(x);',
  '    return x.add(y.mul(this.scale));',
  '  }',
  '}',
  '// Buffers: one is written to, one is replaced, and a number is counted.',
  'class Centered extends nn.Module {',
  '  count = 0;',
  '  constructor(size) {',
  '    super();',
  "    this.registerBuffer('mean', T.zeros([size]));",
  "    this.registerBuffer('steps', T.zeros([], { dtype: 'int64' }));",
  "    this.registerBuffer('last', T.zeros([size]), { persistent: false });",
  '  }',
  '  forward(x) {',
  '    if (this.training) {',
  '      this.count++;',
  '      T.noGrad(() => {',
  '        this.mean.lerp_(x.mean(0), 0.1);',
  '        this.steps.add_(1);',
  '      });',
  '      this.last = x.detach().mean(0);',
  '    }',
  '    return x.sub(this.mean);',
  '  }',
  '}',
  '// One weight, used twice.',
  'class Tied extends nn.Module {',
  '  constructor(size) {',
  '    super();',
  '    this.encode = new nn.Linear(size, size);',
  '    this.decode = new nn.Linear(size, size, { bias: false });',
  '    this.decode.weight = this.encode.weight;',
  '  }',
  '  forward(x) {',
  '    return this.decode.call(this.encode.call(x).tanh());',
  '  }',
  '}',
  'class Recurrent extends nn.Module {',
  '  constructor(kind, size) {',
  '    super();',
  '    this.cells = new nn[kind](size, size, { batchFirst: true });',
  '  }',
  '  forward(x) {',
  '    const [out] = this.cells.call(x.unsqueeze(1).expand([x.shape[0], 2, x.shape[1]]));',
  '    return out.select(1, -1);',
  '  }',
  '}',
  'class Attentive extends nn.Module {',
  '  constructor(size) {',
  '    super();',
  '    this.attention = new nn.MultiheadAttention(size, 1, { batchFirst: true });',
  '  }',
  '  forward(x) {',
  '    const rows = x.unsqueeze(0);',
  '    return this.attention.call(rows, rows, rows)[0].squeeze(0);',
  '  }',
  '}',
  'class Looked extends nn.Module {',
  '  constructor(size) {',
  '    super();',
  '    this.table = new nn.Embedding(4, size);',
  '  }',
  '  forward(x) {',
  "    return x.add(this.table.call(x.detach().abs().mul(3).to('int64').clamp(0, 3)).mean(1));",
  '  }',
  '}',
  'class Filtered extends nn.Module {',
  '  constructor() {',
  '    super();',
  '    this.conv = new nn.Conv1d(1, 2, 3, { padding: 1 });',
  '  }',
  '  forward(x) {',
  '    return this.conv.call(x.unsqueeze(1)).mean(1);',
  '  }',
  '}',
  '// A model of a user: a list of layers, a head, and where it is asked for a dictionary of both.',
  'class Net extends nn.Module {',
  '  constructor(layers, head) {',
  '    super();',
  '    this.layers = new nn.ModuleList(layers);',
  '    this.head = head;',
  '  }',
  '  forward(x) {',
  '    for (const layer of this.layers) x = layer.call(x);',
  '    return this.head.call(x);',
  '  }',
  '}',
  'class Parted extends nn.Module {',
  '  constructor(layers, head) {',
  '    super();',
  '    this.parts = new nn.ModuleDict({ body: new nn.Sequential(...layers), head });',
  '  }',
  '  get layers() {',
  "    return [...this.parts.get('body')];",
  '  }',
  '  get head() {',
  "    return this.parts.get('head');",
  '  }',
  '  forward(x) {',
  '    let y = x;',
  '    for (const [, part] of this.parts.entries()) y = part.call(y);',
  '    return y;',
  '  }',
  '}',
  "let dtype = 'float32';",
  'const numbers = (n, seed) =>',
  '  Array.from({ length: n }, (_, i) => Math.round(Math.sin(seed * 12.9898 + i * 4.1414) * 200) / 100);',
  'const at = (list, i) => list[i % list.length];',
  'const named = (n, shape, seed) => T.tensor(numbers(n, seed)).view(shape).to(dtype).to(device);',
  'const inputs = (n, seed) => named(n * 4, [n, 4], seed);',
  'const targets = (n, seed) => named(n * 3, [n, 3], seed + 7);',
  "const labels = (n, seed) => T.tensor(numbers(n, seed).map((v) => Math.floor(Math.abs(v) * 10) % 3), { dtype: 'int64' }).to(device);",
  'const flags = { fail: false, weigh: false };',
  'const copyOf = (state) => Object.fromEntries(Object.entries(state).map(([name, t]) => [name, t.clone()]));',
];

/** A class or function of the text, with what it is called. */
interface Part {
  readonly name: string;
  readonly text: string;
}

/** The lines as whole declarations. */
const PARTS: readonly Part[] = LINES.reduce<string[][]>((parts, line) => {
  if (/^[ })]/.test(line)) parts.at(-1)!.push(line);
  else if (parts.at(-1)?.at(-1)?.startsWith('//') === true) parts.at(-1)!.push(line);
  else parts.push([line]);
  return parts;
}, []).map((lines) => {
  const text = lines.join('\n');
  return { name: /^(?:class|let|const) (\w+)/m.exec(text)![1]!, text };
});

/** The declarations that `code` uses, and those that these use, as lines. */
export function preludeFor(code: string): string[] {
  const used = new Set<Part>();
  for (let text = code, before = -1; used.size !== before;) {
    before = used.size;
    for (const part of PARTS) if (new RegExp(`\\b${part.name}\\b`).test(text)) used.add(part);
    text = [code, ...Array.from(used, (part) => part.text)].join('\n');
  }
  return PARTS.filter((part) => used.has(part)).flatMap(({ text }) => text.split('\n'));
}
