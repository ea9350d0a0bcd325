/**
 * @file Arguments that are values kept from earlier calls: results, and what the store holds, or views of them; also
 * where nobody looked at them before what they were made of was overwritten.
 */
import type { Dice } from './dice.js';
import type { Seen } from './observe.js';
import type { ArgSpec, CallSpec, KeptIn, Program, TensorSpec } from './program.js';

/** Where a path of an observation is kept, or null. */
function keptIn(path: string): KeptIn | null {
  const output = /^output (\d+)$/.exec(path);
  if (output !== null) return Number(output[1]);
  if (path === 'store.last') return 'last';
  if (path === 'store.map') return 'map';
  return path.startsWith('store.list[') ? 'list' : null;
}

function randomViews(dice: Dice, shape: readonly number[]): TensorSpec['views'] {
  const choices: TensorSpec['views'][] = [[], [], [{ name: 'detach', args: [] }]];
  if (shape.length > 0) choices.push([{ name: 'slice', args: [0, 0, null, 1] }]);
  if (shape.length === 2 && shape[0] === shape[1])
    choices.push([{ name: 'transpose', args: [0, 1] }]);
  return dice.pick(choices);
}

/** Arguments of a call that may be set to zero afterwards: each element has a place of its own. */
function overwritable({ args }: CallSpec): number[] {
  return args.flatMap((arg, i) =>
    arg.kind === 'new' && arg.tensor.views.every(({ name }) => name !== 'expand') ? [i] : [],
  );
}

/** The program with kept values for arguments, where what `seen` shows fits. */
export function withKeptArguments(
  dice: Dice,
  program: Program,
  seen: readonly (readonly Seen[])[],
): Program {
  const calls = program.calls.map((call): CallSpec => ({ ...call }));
  for (let c = 1; c < calls.length; c++) {
    let kept = false;
    const args = calls[c]!.args.map((arg, i): ArgSpec => {
      const own = seen[c]!.find(({ path }) => path === `a${i}`);
      if (arg.kind !== 'new' || own?.kind !== 'tensor' || !dice.chance(0.8)) return arg;
      const fitting = seen[c - 1]!.filter(
        (s): s is Seen & { kind: 'tensor' } =>
          s.kind === 'tensor' &&
          keptIn(s.path) !== null &&
          s.dtype === own.dtype &&
          s.shape.join() === own.shape.join(),
      );
      if (fitting.length === 0) return arg;
      kept = true;
      const { path, shape } = dice.pick(fitting);
      const views = randomViews(dice, shape);
      return { kind: 'kept', in: keptIn(path)!, views, otherwise: arg.tensor };
    });
    if (!kept) continue;
    const overwrite = overwritable(calls[c - 1]!).filter(() => dice.chance(0.5));
    calls[c] = { ...calls[c]!, args, overwrite };
    calls[c - 1] = { ...calls[c - 1]!, unseen: dice.chance(0.5) };
  }
  return { ...program, calls };
}
