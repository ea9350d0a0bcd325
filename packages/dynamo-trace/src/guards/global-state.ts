/**
 * @file The global state that changes what ops do, and how reasons name a change of it.
 */
import { defaultDType } from '@tessera/tensor';
import { autocastKey, gradMode } from '@tessera/tensor/internal';

/** Global state that changes what ops do. */
export interface GlobalState {
  readonly gradMode: boolean;
  readonly defaultDType: string;
  readonly autocast: string;
}

/** The state in force now. */
export function globalState(): GlobalState {
  return {
    gradMode: gradMode.enabled,
    defaultDType: defaultDType(),
    autocast: autocastKey(),
  };
}

/** What differs, in PyTorch's words; null if nothing does. */
export function stateChange(before: GlobalState, now: GlobalState): string | null {
  if (now.gradMode !== before.gradMode) return 'GLOBAL_STATE changed: grad_mode';
  if (now.defaultDType !== before.defaultDType) return 'GLOBAL_STATE changed: default_dtype';
  if (now.autocast === before.autocast) return null;
  return `GLOBAL_STATE changed: ${autocastChange(before.autocast, now.autocast)}`;
}

/** Which part of two autocast settings (`cpu=bfloat16,…`) differs. */
function autocastChange(before: string, now: string): string {
  const parse = (key: string): Map<string, string> =>
    new Map(key === '' ? [] : key.split(',').map((part) => part.split('=') as [string, string]));
  const [a, b] = [parse(before), parse(now)];
  for (const device of new Set([...a.keys(), ...b.keys()])) {
    if (a.has(device) !== b.has(device)) return `autocast(${device})_enabled`;
    if (a.get(device) !== b.get(device)) return `autocast(${device})_dtype`;
  }
  return 'autocast';
}
