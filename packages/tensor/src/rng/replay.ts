/**
 * @file Random ops again: the same numbers from a state of the generator that is given, not drawn.
 *
 * For a backward pass that computes a dropout mask again instead of keeping it. The op
 * `tessera::replay_<name>` takes the generator's seed and offset at the start of the forward graph and
 * the number of its draw in that graph; then the arguments of the op it repeats. It draws nothing.
 */
import { type OpOverload, defineOp } from '../op/op-overload.js';
import { getRngState, setRngState } from './generator.js';

const replays = new Map<OpOverload, OpOverload>();
const originals = new Map<OpOverload, OpOverload>();

/** The op that repeats a random op; null if that is no primitive op with a kernel. */
export function replayOf(op: OpOverload): OpOverload | null {
  const { record, schema } = op;
  const known = replays.get(op);
  if (known !== undefined) return known;
  if (record.kernel === undefined || record.meta === undefined) return null;
  const { meta, kernel } = record;
  const [, rest] = /^[^(]*\((.*)$/s.exec(schema.text)!;
  const suffix = schema.overload === 'default' ? '' : `_${schema.overload}`;
  const name = `tessera::replay_${schema.namespace}_${schema.name}${suffix}`;
  const replay = defineOp(
    `${name}(Scalar replay_seed, Scalar replay_offset, int replay_draw, ${rest}`,
    {
      tags: ['non-differentiable'],
      meta,
      kernel: (args, outs) => {
        const saved = getRngState();
        const offset = Number(args.replay_offset) + Number(args.replay_draw);
        setRngState({ seed: Number(args.replay_seed), offset });
        try {
          kernel(args, outs);
        } finally {
          setRngState(saved);
        }
      },
    },
  );
  replays.set(op, replay);
  originals.set(replay, op);
  return replay;
}

/** The random op that an op repeats, or undefined. */
export function replayedOp(op: OpOverload): OpOverload | undefined {
  return originals.get(op);
}
