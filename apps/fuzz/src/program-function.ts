/**
 * @file The function of a program, which is what gets compiled.
 */
import type { Tensor } from '@tessera/tensor';
import { Interpreter, type Steps, drain } from './interpret.js';
import type { Program } from './program.js';
import type { Store, World } from './world.js';

/** How a program's function is called: the arguments in the program's form, then the store if it is one. */
export function packArguments({ form, storeIsArgument }: Program, world: World): unknown[] {
  const { args } = world;
  const packed: unknown[] =
    form === 'positional'
      ? args
      : form === 'list'
        ? [args]
        : [Object.fromEntries(args.map((t, i) => [`a${i}`, t]))];
  return storeIsArgument ? [...packed, world.store] : [...packed];
}

/** What a program's function is. */
export type ProgramFunction = (...args: unknown[]) => Tensor[] | Promise<Tensor[]>;

/** The function of a program in a world. */
export function programFunction(program: Program, world: World): ProgramFunction {
  const { form, storeIsArgument, body } = program;
  const begin = (packed: readonly unknown[]): Steps<Tensor[] | null> => {
    const store = storeIsArgument ? (packed.at(-1) as Store) : world.store;
    const args = storeIsArgument ? packed.slice(0, -1) : packed;
    const values = (form === 'positional' ? args : Object.values(args[0] as object)) as Tensor[];
    const interpreter = new Interpreter(world, store);
    values.forEach((t, i) => interpreter.scope.declare(`a${i}`, t));
    return interpreter.block(body);
  };
  if (!program.async)
    return function program(...packed: unknown[]): Tensor[] {
      return drain(begin(packed)) ?? [];
    };
  return async function program(...packed: unknown[]): Promise<Tensor[]> {
    const steps = begin(packed);
    let given: unknown;
    for (;;) {
      const { done, value } = steps.next(given);
      if (done === true) return (value as Tensor[] | null) ?? [];
      given = await value;
    }
  };
}
