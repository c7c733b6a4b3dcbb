from shared import opt

print(opt.workers)
