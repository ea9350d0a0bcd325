/**
 * @file Puts a layer in the place of another.
 */
import type { Module } from '@tessera/nn';

/** Replaces the layer at a dotted path. @throws invalid-argument if nothing is there */
export function replaceLayer(root: Module, path: string, layer: Module): void {
  const at = path.lastIndexOf('.');
  const owner = root.getSubmodule(at < 0 ? '' : path.slice(0, at));
  Object.assign(owner, { [path.slice(at + 1)]: layer });
}
