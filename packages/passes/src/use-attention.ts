/**
 * @file Brings `attentionFusion`: for devices that have kernels for attention, and for what chooses the keys that it reads.
 */
import { attentionFusion } from './attention.js';
import { addJointPattern } from './pipeline.js';

/** Has attention that is written out become the operator for it from now on. */
export function useAttentionFusion(): void {
  addJointPattern(attentionFusion);
}
