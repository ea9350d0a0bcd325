import {
  detectAnomaly,
  enableGrad,
  inferenceMode,
  isAnomalyEnabled,
  isGradEnabled,
  isInferenceModeEnabled,
  noGrad,
  ones,
  setGradEnabled,
  withSavedTensorHooks,
} from '@tessera/tensor';
import { afterEach, describe, expect, it } from 'vitest';

/** A promise that a test settles. */
function door(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

/** Both orders in which two scopes that are open at once may end. */
const ORDERS = [
  ['first', [0, 1]],
  ['last', [1, 0]],
] as const;

describe('scopes of async functions that are open at once', () => {
  afterEach(() => setGradEnabled(true));

  it.each(ORDERS)('leave grad mode as it was, the outer one ending %s', async (_, order) => {
    const doors = [door(), door()];
    const scopes = doors.map(({ opened }) => noGrad(() => opened));
    doors[order[0]]!.open();
    await scopes[order[0]];
    expect(isGradEnabled()).toBe(false);
    doors[order[1]]!.open();
    await scopes[order[1]];
    expect(isGradEnabled()).toBe(true);
  });

  it('keep the mode of the one that is still open', async () => {
    const [outer, inner] = [door(), door()];
    const first = noGrad(() => outer.opened);
    const second = enableGrad(() => inner.opened);
    outer.open();
    await first;
    expect(isGradEnabled()).toBe(true);
    setGradEnabled(false);
    inner.open();
    await second;
    expect(isGradEnabled()).toBe(true);
  });

  it('may outlive the synchronous scope that they began in', async () => {
    const { opened, open } = door();
    let inner: Promise<void> | undefined;
    noGrad(() => {
      inner = enableGrad(() => opened);
    });
    expect(isGradEnabled()).toBe(true);
    open();
    await inner;
    expect(isGradEnabled()).toBe(true);
  });

  it('end where the functions reject', async () => {
    const { opened, open } = door();
    const failing = noGrad(() => Promise.reject(new Error('no')));
    const other = noGrad(() => opened);
    await expect(failing).rejects.toThrow('no');
    expect(isGradEnabled()).toBe(false);
    open();
    await other;
    expect(isGradEnabled()).toBe(true);
  });

  it('end with a thenable that has no finally()', async () => {
    const thenable: PromiseLike<number> = {
      // oxlint-disable-next-line unicorn/no-thenable
      then: (onFulfilled, onRejected) => Promise.resolve(3).then(onFulfilled, onRejected),
    };
    expect(await noGrad(() => thenable)).toBe(3);
    expect(isGradEnabled()).toBe(true);
  });

  it.each(ORDERS)('leave inference and anomaly mode, the outer one ending %s', async (_, order) => {
    const doors = [door(), door()];
    const scopes = doors.map(({ opened }) => inferenceMode(() => detectAnomaly(() => opened)));
    doors[order[0]]!.open();
    await scopes[order[0]];
    expect([isInferenceModeEnabled(), isAnomalyEnabled()]).toEqual([true, true]);
    doors[order[1]]!.open();
    await scopes[order[1]];
    expect([isInferenceModeEnabled(), isAnomalyEnabled()]).toEqual([false, false]);
    expect(isGradEnabled()).toBe(true);
  });

  it.each(ORDERS)('leave no hooks on saved tensors, the outer one ending %s', async (_, order) => {
    const doors = [door(), door()];
    let packed = 0;
    const hooks = { pack: (t: unknown) => (packed++, t), unpack: (t: unknown) => t as never };
    const scopes = doors.map(({ opened }) => withSavedTensorHooks(hooks, () => opened));
    doors[order[0]]!.open();
    await scopes[order[0]];
    doors[order[1]]!.open();
    await scopes[order[1]];
    ones([2], { requiresGrad: true }).exp();
    expect(packed).toBe(0);
  });
});
