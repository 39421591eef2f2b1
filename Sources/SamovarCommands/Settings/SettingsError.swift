enum Stub2 {}
