/**
 * @file Whether the same tensors are the same objects as when guards were made, and others are not.
 */
import type { Tensor } from '@tessera/tensor';
import { isCallOpen } from '../frame/frame.js';

/** Marks tensors of one check; frames have positive numbers. */
let mark = -1;

/** `firsts[i]` is the index of the first tensor that is tensor `i`. */
export function sameIdentities(tensors: readonly Tensor[], firsts: Int32Array): boolean {
  // A call in progress has numbered its tensors: then a Map keeps count.
  if (isCallOpen()) return sameByMap(tensors, firsts);
  const current = --mark;
  for (let i = 0; i < tensors.length; i++) {
    const tensor = tensors[i]!;
    if (tensor.traceOwner === current) {
      if (tensor.traceSlot !== firsts[i]) return false;
      continue;
    }
    if (firsts[i] !== i) return false;
    tensor.traceOwner = current;
    tensor.traceSlot = i;
  }
  return true;
}

function sameByMap(tensors: readonly Tensor[], firsts: Int32Array): boolean {
  const seen = new Map<Tensor, number>();
  return tensors.every((tensor, i) => {
    const first = seen.get(tensor) ?? i;
    if (first === i) seen.set(tensor, i);
    return first === firsts[i];
  });
}
