import { isTesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { PEERS } from '../src/engines/index.js';
import { type BenchOptions, readOptions } from '../src/options.js';
import { WORKLOADS } from '../src/workloads/index.js';

function optionsOf(...argv: string[]): BenchOptions {
  const command = readOptions(argv);
  if ('print' in command) throw new Error(`prints: ${command.print}`);
  return command.run;
}

function namesOf(...argv: string[]): string[] {
  return optionsOf(...argv).workloads.map(({ name }) => name);
}

describe('command line', () => {
  it('runs the workloads of the device when none is named', () => {
    expect(namesOf()).toContain('matmul_f32_512');
    expect(namesOf()).not.toContain('matmul_f32_4096');
    expect(namesOf('--device', 'wgpu')).toContain('matmul_f32_4096');
    expect(namesOf('--device', 'wgpu')).not.toContain('matmul_f32_512');
  });

  it('takes workloads by name and by group, in the order of the table', () => {
    expect(namesOf('softmax', 'pointwise_chain')).toEqual(['pointwise_chain', 'softmax']);
    expect(namesOf('tiny_call')).toEqual(['tiny_call', 'tiny_call_pure']);
    expect(namesOf('tiny_call_pure')).toEqual(['tiny_call_pure']);
    expect(namesOf('first_call')).toEqual(['first_call_tiny', 'first_call_mlp']);
    expect(namesOf('matmul_f32_4096')).toEqual(['matmul_f32_4096']);
  });

  it('reads every option', () => {
    const options = optionsOf(
      ...['softmax', '--threads', '3', '--peers', 'ort-web,torch', '--json', '-'],
      ...['--rounds', '7', '--quick', '--backend', 'eager', '--dawn', 'dawn.node'],
      ...['--dawn-flag', 'a', '--dawn-flag', 'b'],
    );
    expect(options).toMatchObject({
      device: 'cpu',
      threads: 3,
      peers: ['ort-web', 'torch'],
      json: '-',
      html: null,
      rounds: 7,
      quick: true,
      backend: 'eager',
      dawn: 'dawn.node',
      dawnFlags: ['a', 'b'],
    });
    expect(optionsOf('--peers', 'all').peers).toEqual(PEERS.map(({ name }) => name));
    expect(optionsOf().threads).toBeGreaterThanOrEqual(1);
  });

  it.each([
    [['softmx'], "Did you mean 'softmax'?"],
    [['--peers', 'numpy'], "There is no peer 'numpy'"],
    [['--device', 'gpu'], '--device must be cpu or wgpu'],
    [['--threads', '0'], '--threads must be a positive whole number'],
    [['--rounds', '2.5'], '--rounds must be a positive whole number'],
    [['--fast'], '--fast'],
  ])('refuses %j', (argv, text) => {
    let message = '';
    try {
      readOptions(argv);
    } catch (error) {
      expect(isTesseraError(error) && error.code).toBe('invalid-argument');
      message = (error as Error).message;
    }
    expect(message).toContain(text);
  });

  it('lists workloads and peers', () => {
    const command = readOptions(['--list']);
    const text = 'print' in command ? command.print : '';
    for (const { name } of [...WORKLOADS, ...PEERS]) expect(text).toContain(name);
  });
});
