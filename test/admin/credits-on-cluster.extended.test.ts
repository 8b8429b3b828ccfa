/** Credits of the operator area once more, on a Redis Cluster with replicas. */
import './cluster.ts';

// Not a static import, which would not wait for the cluster.
await import('./credits.test.ts');
