/**
 * @file The graph's way of switching grad mode.
 */
import { type HostFunction, registerHostFunction } from '@tessera/graph';
import { setGradEnabled } from '@tessera/tensor';

/** Host function that graphs call where the program switched grad mode. */
export const setGradEnabledNode: HostFunction = setGradEnabled as unknown as HostFunction;

registerHostFunction('setGradEnabled', setGradEnabledNode, { pure: false });
