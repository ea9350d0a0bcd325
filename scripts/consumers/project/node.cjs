/** @file Node with `require`. */
const { readFileSync } = require('node:fs');
const { compile } = require('@tessera/compile');
const { ones } = require('@tessera/tensor');
const { train } = require('./train.js');

if (compile((x) => x.add(1).sum())(ones([3])).item() !== 6) throw new Error('1 + 1 is not 2.');
train(readFileSync('digits.safetensors')).then((losses) => console.log(JSON.stringify(losses)));
