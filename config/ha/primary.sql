-- The first start of the primary. Names of replicas come last: from then on, each commit waits for one.
CREATE ROLE shop LOGIN;
CREATE ROLE replica LOGIN REPLICATION;
SELECT pg_create_physical_replication_slot('replica');
ALTER SYSTEM SET synchronous_standby_names = 'replica';
