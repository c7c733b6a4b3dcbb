from sounds import Sung

print(len(Sung("choir.json")))
