/**
 * @file The bench of layouts runs every network for every use, and reports ratios.
 */
import { describe, expect, it } from 'vitest';
import { layoutReport } from '../src/layout/layout-bench.js';
import { LAYOUT_NETWORKS } from '../src/layout/networks.js';

describe('pnpm bench layout', () => {
  it('times training, inference and frozen inference of the networks that were asked for', async () => {
    const args = ['--quick', '--device', 'cpu', '--network', 'three_convs', '--network', 'conv_bn'];
    const { rows, means, rounds } = await layoutReport(args);
    expect(rows.map(({ network, use }) => `${network} ${use}`)).toEqual(
      ['three_convs', 'conv_bn'].flatMap((name) =>
        ['training', 'inference', 'frozen'].map((use) => `${name} ${use}`),
      ),
    );
    expect(Object.keys(means)).toEqual(['cpu training', 'cpu inference', 'cpu frozen']);
    expect(rounds).toEqual({ cpu: 1 });
    for (const { eagerLayoutMs, channelsLastMs, ratio } of rows) {
      expect(Math.min(eagerLayoutMs, channelsLastMs)).toBeGreaterThan(0);
      expect(ratio).toBeCloseTo(channelsLastMs / eagerLayoutMs, 6);
    }
  });

  it('makes every network, for images of either size', async () => {
    for (const { name, make, small, full } of LAYOUT_NETWORKS) {
      const model = await make(true);
      expect(model.parameters().length, name).toBeGreaterThan(0);
      expect([small.length, full.length], name).toEqual([4, 4]);
    }
  });
});
